"""One account in Redis, in Lua: how it is read, brought up to now, charged and written. `policy.account`, once more.

A script that begins with this reads its arguments in order with `take`. `load` reads an account by its place among the
names; `end_lost`, `roll` and `spend` change what was read, and `save` writes it and says when it expires.
"""

from typing import Final

from policy.account import MAX_ENDED_AT_ONCE

ACCOUNT: Final = """
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
