-- Answers the id of each job's newest event, '' where it has none. The tenant is not checked: ask only for jobs already seen.
-- KEYS  their events
local found = {}
for i, events in ipairs(KEYS) do
  local newest = redis.call('XREVRANGE', events, '+', '-', 'COUNT', 1)
  found[i] = newest[1] and newest[1][1] or ''
end
return found
