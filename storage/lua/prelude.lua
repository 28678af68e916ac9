-- Put in front of every transition. Time is the server's: hosts' clocks never meet.

local function now()
  local time = redis.call('TIME')
  return tonumber(time[1]) + tonumber(time[2]) / 1e6
end

-- Lua would print a double with 14 digits and lose the microseconds.
local function stamp(seconds)
  return string.format('%.6f', seconds)
end

local function terminal(state)
  return state == 'succeeded' or state == 'failed' or state == 'cancelled'
end

-- The one way into a terminal state.
local function finish(job, due, id, state)
  redis.call('HSET', job, 'state', state, 'finished', stamp(now()))
  redis.call('HDEL', job, 'owner', 'token', 'lease_until')
  redis.call('ZREM', due, id)
end
