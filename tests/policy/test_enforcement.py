from itertools import product

from policy.enforcement import EnforcementPolicy, Unknown


def test_the_default_policy_is_the_strictest() -> None:
    assert EnforcementPolicy() == EnforcementPolicy(
        allow_checked_after=False, unknown_keyword=Unknown.REJECT, unknown_format=Unknown.REJECT
    )


def test_different_policies_have_different_digests() -> None:
    policies = [
        EnforcementPolicy(allow_checked_after=checked, unknown_keyword=keyword, unknown_format=name)
        for checked, keyword, name in product([False, True], Unknown, Unknown)
    ]
    assert len({policy.digest for policy in policies}) == 8
    assert EnforcementPolicy().digest == EnforcementPolicy().digest
