"""Tokens checked: apart, algorithm, key, signature, and only then what they claim."""

from datetime import UTC, datetime

from gateway.auth.oidc.claims import Identity, read_identity
from gateway.auth.oidc.key_source import KeySource
from gateway.auth.oidc.settings import OidcSettings
from gateway.auth.oidc.token import TokenFault, TokenFaultError, take_apart


class TokenVerifier:
    """Knows one issuer."""

    def __init__(self, settings: OidcSettings, keys: KeySource) -> None:
        self._settings = settings
        self._keys = keys

    async def verify(self, text: str) -> Identity:
        """Who sends the token.

        Raises:
            TokenFaultError: it is not good, here and now.
            IdentityProviderUnavailableError: nobody can tell, because there are no keys.
        """
        token = take_apart(text, max_bytes=self._settings.max_token_bytes)
        # Our list decides, never the token's word: the key that is looked for is one of this algorithm.
        if token.algorithm not in self._settings.algorithms:
            raise TokenFaultError(TokenFault.ALGORITHM)
        keys = await self._keys.matching(token.kid, token.algorithm)
        if not keys:
            raise TokenFaultError(TokenFault.UNKNOWN_KEY)
        if not any(key.verifies(token.signed, token.signature) for key in keys):
            raise TokenFaultError(TokenFault.SIGNATURE)
        return read_identity(token.claims(), self._settings, now=datetime.now(UTC).timestamp())
