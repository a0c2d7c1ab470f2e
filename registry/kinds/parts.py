"""What a contract that holds other contracts adds up to: pointers, annotations, sizes."""

from types import MappingProxyType

from policy.enforcement import KeywordStatus, ReportEntry
from registry.contract import CanonicalContract, ContractKind, JsonValue, Profile
from registry.digests import annotation_digest, contract_digest
from registry.kinds.faults import check_limit
from registry.kinds.terms import Terms
from registry.pointers import join
from registry.text import canonical_json, sorted_members


class Parts:
    """Collects while one contract is read; then makes it."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._sources: dict[str, str] = {"": ""}
        self._report: list[ReportEntry] = []
        self._annotations: dict[str, JsonValue] = {}
        self._transformations: dict[str, None] = {}
        self._documents: dict[str, None] = {}
        self._contracts: list[CanonicalContract] = []
        self._observed: dict[str, int | float] = {}

    def __len__(self) -> int:
        """How many contracts were added."""
        return len(self._contracts)

    def add(self, contract: CanonicalContract, *, canonical: str, source: str) -> None:
        """A contract that stands at `canonical` in the canonical form and at `source` in the caller's value."""
        self._contracts.append(contract)
        for inner, outer in contract.source_pointers.items():
            self._sources[canonical + inner] = source + outer
        for entry in contract.annotations:
            moved = ReportEntry(pointer=source + entry.pointer, keyword=entry.keyword, status=entry.status)
            self._report.append(moved)
        self._embed(contract, canonical)

    def add_in_text(self, contract: CanonicalContract, *, name: str) -> None:
        """A contract inside one text, where no pointer leads: its report names it instead."""
        self._contracts.append(contract)
        for entry in contract.annotations:
            keyword = f"{name}#{entry.pointer}"
            self._report.append(ReportEntry(pointer="", keyword=keyword, status=entry.status))
        self._embed(contract, name)

    def _embed(self, contract: CanonicalContract, name: str) -> None:
        for limit, value in contract.profile.observed.items():
            self.observe(limit, value)
        self._transformations.update(dict.fromkeys(contract.transformations))
        self._documents.update(dict.fromkeys(contract.documents))
        if contract.annotations:
            self._annotations[name] = contract.annotation_digest

    def place(self, *, canonical: str, source: str) -> None:
        """Record that one part of the canonical form is what stands at `source`."""
        self._sources[canonical] = source

    def annotate(self, value: str, *, canonical: str, source: str, keyword: str) -> None:
        """A text for people, which constrains nothing."""
        self._annotations[join(canonical, keyword)] = value
        entry = ReportEntry(pointer=join(source, keyword), keyword=keyword, status=KeywordStatus.ANNOTATION)
        self._report.append(entry)

    def transform(self, what: str) -> None:
        """Something was rewritten without changing what the contract allows."""
        self._transformations[what] = None

    def observe(self, limit: str, value: float) -> None:
        """A number that was held against a limit."""
        self._observed[limit] = max(self._observed.get(limit, 0), value)

    def check(self, limit: str, value: int, what: str, *, pointer: str = "", keyword: str | None = None) -> None:
        """Hold a number against its limit. Raises `ContractRejectedError`."""
        check_limit(self._terms.limits, limit, value, what, pointer=pointer, keyword=keyword)
        self.observe(limit, value)

    def finish(
        self,
        kind: ContractKind,
        schema: JsonValue,
        *,
        depth: int,
        text: str | None = None,
        num_enum_members: int = 0,
        num_rules: int = 0,
        num_references: int = 0,
        is_recursive: bool = False,
    ) -> CanonicalContract:
        """The contract. Its text is `schema` written as JSON where `text` says nothing else."""
        written = canonical_json(schema) if text is None else text
        contract_bytes = len(written.encode())
        self.check("max_contract_bytes", contract_bytes, "The size of the canonical form")
        inner = [contract.profile for contract in self._contracts]
        largest_pattern = int(self._observed.get("max_pattern_bytes", 0))
        return CanonicalContract(
            kind=kind,
            text=written,
            schema=schema,
            digest=contract_digest(kind, written),
            annotation_digest=annotation_digest(canonical_json(sorted_members(self._annotations))),
            profile=Profile(
                contract_bytes=contract_bytes,
                depth=depth + max((profile.depth for profile in inner), default=0),
                num_subschemas=sum(profile.num_subschemas for profile in inner),
                num_enum_members=num_enum_members + sum(profile.num_enum_members for profile in inner),
                max_pattern_bytes=largest_pattern,
                num_references=num_references + sum(profile.num_references for profile in inner),
                is_recursive=is_recursive or any(profile.is_recursive for profile in inner),
                observed=MappingProxyType(dict(self._observed)),
                num_rules=num_rules + sum(profile.num_rules for profile in inner),
            ),
            source_pointers=MappingProxyType(self._sources),
            annotations=tuple(self._report),
            transformations=tuple(self._transformations),
            documents=tuple(self._documents),
        )
