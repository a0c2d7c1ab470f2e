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

from policy.account import MAX_ENDED_AT_ONCE

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


_COMMON: Final = """
local DAY = 86400000
local LENGTHS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
local FIELDS = {'begin', 'end', 'requests', 'tokens', 'nano_usd', 'compile_cpu_us', 'digests'}
local position = 0

local function take()
  position = position + 1
  return ARGV[position]
end

local function take_number() return tonumber(take()) end

local function moment(sent)
  if sent ~= '' then return tonumber(sent) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function is_leap(year) return (year % 4 == 0 and year % 100 ~= 0) or year % 400 == 0 end

local function month_of(at)
  local day, year, first = math.floor(at / DAY), 1970, 0
  while true do
    local length = is_leap(year) and 366 or 365
    if day < first + length then break end
    first, year = first + length, year + 1
  end
  for month = 1, 12 do
    local length = LENGTHS[month]
    if month == 2 and is_leap(year) then length = 29 end
    if day < first + length then return first * DAY, (first + length) * DAY end
    first = first + length
  end
end

local function begin(account, window, at)
  local from, to = at, nil
  if window == 'month' then from, to = month_of(at) else to = at + tonumber(window) * 1000 end
  for _, field in ipairs(FIELDS) do account.numbers[window .. ':' .. field] = 0 end
  account.numbers[window .. ':begin'], account.numbers[window .. ':end'] = from, to
  redis.call('ZREMRANGEBYSCORE', account.digests, '-inf', at)
end

local function roll(account, at)
  for _, window in ipairs(account.windows) do
    if at >= account.numbers[window .. ':end'] then begin(account, window, at) end
  end
end

local function spend(account, tokens, nano_usd, compile_cpu_us)
  for _, window in ipairs(account.windows) do
    local numbers = account.numbers
    numbers[window .. ':tokens'] = numbers[window .. ':tokens'] + tokens
    numbers[window .. ':nano_usd'] = numbers[window .. ':nano_usd'] + nano_usd
    numbers[window .. ':compile_cpu_us'] = numbers[window .. ':compile_cpu_us'] + compile_cpu_us
  end
end

local function release(account, id)
  local held = redis.call('HGET', account.held, id)
  redis.call('ZREM', account.deadlines, id)
  if not held then return nil end
  redis.call('HDEL', account.held, id)
  local worth = {}
  for number in string.gmatch(held, '%d+') do table.insert(worth, tonumber(number)) end
  local numbers = account.numbers
  -- Below nothing only if somebody has deleted the counters: that must not become room for more.
  numbers.tokens = math.max(0, numbers.tokens - worth[1])
  numbers.nano_usd = math.max(0, numbers.nano_usd - worth[2])
  numbers.compile_cpu_us = math.max(0, numbers.compile_cpu_us - worth[3])
  numbers.streams = math.max(0, numbers.streams - worth[4])
  numbers.running = math.max(0, numbers.running - 1)
  return worth
end

local function end_lost(account, now)
  local lost = redis.call('ZRANGEBYSCORE', account.deadlines, '-inf', now, 'WITHSCORES', 'LIMIT', 0, MAX_ENDED)
  for at = 1, #lost, 2 do
    local worth = release(account, lost[at])
    roll(account, tonumber(lost[at + 1]))
    if worth then spend(account, worth[1], worth[2], worth[3]) end
  end
  return #lost / 2
end

local function load(index)
  local first = (index - 1) * 4
  local account = {
    counters = KEYS[first + 1], deadlines = KEYS[first + 2], held = KEYS[first + 3], digests = KEYS[first + 4],
    numbers = {tokens = 0, nano_usd = 0, compile_cpu_us = 0, streams = 0, running = 0}, windows = {}, dropped = {},
  }
  local flat = redis.call('HGETALL', account.counters)
  for at = 1, #flat, 2 do
    if flat[at] == 'windows' then
      for window in string.gmatch(flat[at + 1], '%S+') do table.insert(account.windows, window) end
    else
      account.numbers[flat[at]] = tonumber(flat[at + 1])
    end
  end
  return account
end

local function save(account, now)
  if #account.windows == 0 and account.numbers.running == 0 then
    redis.call('DEL', account.counters, account.deadlines, account.held, account.digests)
    return
  end
  local flat = {'windows', table.concat(account.windows, ' ')}
  local latest, longest = now, 0
  for _, window in ipairs(account.dropped) do
    for _, field in ipairs(FIELDS) do
      account.numbers[window .. ':' .. field] = nil
      redis.call('HDEL', account.counters, window .. ':' .. field)
    end
  end
  for name, number in pairs(account.numbers) do
    table.insert(flat, name)
    table.insert(flat, string.format('%.0f', number))
  end
  for _, window in ipairs(account.windows) do
    local from, to = account.numbers[window .. ':begin'], account.numbers[window .. ':end']
    latest, longest = math.max(latest, to), math.max(longest, to - from)
  end
  if longest > 27 * DAY then longest = math.max(longest, 31 * DAY) end
  local last = redis.call('ZREVRANGE', account.deadlines, 0, 0, 'WITHSCORES')
  -- A reservation that is lost is charged to the window of its deadline: that may end so much later.
  if last[2] then latest = math.max(latest, tonumber(last[2]) + longest) end
  redis.call('HSET', account.counters, unpack(flat))
  local left = string.format('%.0f', math.max(1000, latest - now + 1000))
  for _, key in ipairs({account.counters, account.deadlines, account.held, account.digests}) do
    redis.call('PEXPIRE', key, left)
  end
end

local function take_limits()
  local limits = {running = take_number(), streams = take_number(), windows = {}, is_asked = {}}
  for _ = 1, take_number() do
    local window = {
      name = take(), requests = take_number(), tokens = take_number(), nano_usd = take_number(),
      compile_cpu_us = take_number(), digests = take_number(),
    }
    table.insert(limits.windows, window)
    limits.is_asked[window.name] = true
  end
  return limits
end

local function advance(account, limits, now)
  local num_lost = end_lost(account, now)
  local kept, is_kept = {}, {}
  for _, window in ipairs(account.windows) do
    if limits.is_asked[window] or account.numbers[window .. ':end'] > now then
      table.insert(kept, window)
      is_kept[window] = true
    else
      table.insert(account.dropped, window)
    end
  end
  account.windows = kept
  for _, window in ipairs(limits.windows) do
    if not is_kept[window.name] then
      table.insert(kept, window.name)
      begin(account, window.name, now)
    end
  end
  roll(account, now)
  return num_lost
end
""".replace("MAX_ENDED", str(MAX_ENDED_AT_ONCE))

RESERVE: Final = Script(
    text=_COMMON
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
    text=_COMMON
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
    text=_COMMON
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
    text=_COMMON
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
