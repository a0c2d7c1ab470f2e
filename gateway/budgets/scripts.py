"""`policy.account` in Redis: what one step does to all accounts of a request, in one script and one round trip.

Every account has four names, all with its tenant's hash tag, so that a cluster keeps them together: `counters` (hash),
`deadlines` (reservations by deadline), `held` (what each reservation is worth) and `digests` (contracts by the end of
the window that counts them). All expire when the last window is over and the last reservation is lost, so that what
nobody uses any more takes no memory. Time is Redis's own, the same for all gateways.

Numbers are whole and below 2^53, which a Lua number holds exactly.
"""

from dataclasses import dataclass
from hashlib import sha1
from typing import Final

from gateway.budgets.account_lua import ACCOUNT

NAMES: Final = ("counters", "deadlines", "held", "digests")
"""Of one account, in the order in which a script takes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script and the name under which Redis keeps it (its own SHA-1, which protects nothing)."""

    text: str

    @property
    def sha(self) -> str:
        """What EVALSHA takes."""
        return sha1(self.text.encode(), usedforsecurity=False).hexdigest()


RESERVE: Final = Script(
    text=ACCOUNT
    + """
local now = moment(take())
local id, lease_ms = take(), take_number()
local asked = {tokens = take_number(), nano_usd = take_number(), compile_cpu_us = take_number()}
local streams, digest = take_number(), take()
local accounts, limits, num_lost = {}, {}, 0

for index = 1, #KEYS / 4 do
  limits[index] = take_limits()
  accounts[index] = load(index)
  num_lost = advance(accounts[index], limits[index], now)
end

local function refusal()
  for index, account in ipairs(accounts) do
    local numbers, most = account.numbers, limits[index]
    if most.running >= 0 and numbers.running + 1 > most.running then
      return {index, 0, 'concurrent_requests', numbers.running + 1, 1}
    end
    if streams > 0 and most.streams >= 0 and numbers.streams + 1 > most.streams then
      return {index, 0, 'concurrent_streams', numbers.streams + 1, 1}
    end
    for place, window in ipairs(most.windows) do
      local requests = numbers[window.name .. ':requests'] + 1
      if window.requests >= 0 and requests > window.requests then
        return {index, place, 'requests', requests, 1}
      end
      for _, what in ipairs({'tokens', 'nano_usd', 'compile_cpu_us'}) do
        local observed = numbers[window.name .. ':' .. what] + numbers[what] + asked[what]
        if window[what] >= 0 and asked[what] > 0 and observed > window[what] then
          return {index, place, what, observed, asked[what]}
        end
      end
      if window.digests >= 0 and digest ~= '' then
        local digests = numbers[window.name .. ':digests'] + 1
        local is_known = redis.call('ZSCORE', account.digests, window.name .. ' ' .. digest)
        if not is_known and digests > window.digests then
          return {index, place, 'digests', digests, 1}
        end
      end
    end
  end
  return {}
end

local refused = {}
if id ~= '' then
  refused = refusal()
  if #refused == 0 then
    for index, account in ipairs(accounts) do
      local numbers = account.numbers
      numbers.running, numbers.streams = numbers.running + 1, numbers.streams + streams
      for what, number in pairs(asked) do numbers[what] = numbers[what] + number end
      redis.call('ZADD', account.deadlines, now + lease_ms, id)
      redis.call('HSET', account.held, id, string.format('%.0f %.0f %.0f %.0f',
        asked.tokens, asked.nano_usd, asked.compile_cpu_us, streams))
      for _, window in ipairs(account.windows) do
        numbers[window .. ':requests'] = numbers[window .. ':requests'] + 1
      end
      for _, window in ipairs(limits[index].windows) do
        if window.digests >= 0 and digest ~= '' then
          local added = redis.call('ZADD', account.digests, 'NX', numbers[window.name .. ':end'],
            window.name .. ' ' .. digest)
          numbers[window.name .. ':digests'] = numbers[window.name .. ':digests'] + added
        end
      end
    end
  end
end

local standings = {}
for index, account in ipairs(accounts) do
  local numbers = account.numbers
  local standing = {numbers.running, numbers.streams}
  for _, window in ipairs(limits[index].windows) do
    local name = window.name
    for _, number in ipairs({
      numbers[name .. ':begin'], numbers[name .. ':end'], numbers[name .. ':requests'],
      numbers[name .. ':tokens'] + numbers.tokens, numbers[name .. ':nano_usd'] + numbers.nano_usd,
      numbers[name .. ':compile_cpu_us'] + numbers.compile_cpu_us, numbers[name .. ':digests'],
    }) do table.insert(standing, number) end
  end
  standings[index] = standing
  save(account, now)
end
return {now, num_lost, refused, standings}
"""
)
"""ARGV: the time or "", the reservation's id or "" (only look), how long it holds without being renewed, tokens, money,
compiler time, 1 for a stream, the contract's digest or "", then the limits of each account."""

SETTLE: Final = Script(
    text=ACCOUNT
    + """
local now = moment(take())
local id = take()
local tokens, nano_usd, compile_cpu_us = take_number(), take_number(), take_number()
local num_settled = 0

for index = 1, #KEYS / 4 do
  local account = load(index)
  if release(account, id) then
    end_lost(account, now)
    roll(account, now)
    spend(account, tokens, nano_usd, compile_cpu_us)
    save(account, now)
    num_settled = num_settled + 1
  end
end
return num_settled
"""
)
"""ARGV: the time or "", the reservation's id, and what was used in its place. The answer is in how many accounts."""

CHARGE: Final = Script(
    text=ACCOUNT
    + """
local now = moment(take())
local tokens, nano_usd, compile_cpu_us = take_number(), take_number(), take_number()

for index = 1, #KEYS / 4 do
  local limits, account = take_limits(), load(index)
  advance(account, limits, now)
  for _, window in ipairs(account.windows) do
    account.numbers[window .. ':requests'] = account.numbers[window .. ':requests'] + 1
  end
  spend(account, tokens, nano_usd, compile_cpu_us)
  save(account, now)
end
return now
"""
)
"""ARGV: the time or "", what a request used that ran without a reservation here, then the limits of each account."""

RENEW: Final = Script(
    text=ACCOUNT
    + """
local now = moment(take())
local id, lease_ms = take(), take_number()

for index = 1, #KEYS / 4 do
  local account = load(index)
  if redis.call('ZSCORE', account.deadlines, id) then
    redis.call('ZADD', account.deadlines, 'XX', now + lease_ms, id)
    save(account, now)
  end
end
return now
"""
)
"""ARGV: the time or "", the reservation's id, how long it holds from now."""

MEMORY: Final = Script(text="return redis.call('INFO', 'memory')")
"""What Redis does when it is full."""
