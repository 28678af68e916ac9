-- Of each named job the id of its newest event, '' where it has none. Says nothing of whose they are: ask only for jobs already seen.
-- KEYS  their events
local found = {}
for i, events in ipairs(KEYS) do
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
  found[i] = newest[1] and newest[1][1] or ''
end
return found
