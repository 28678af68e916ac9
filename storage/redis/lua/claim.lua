-- queued, or running with its lease run out → running, one attempt further. Answers {attempt, tenant, request, messages to publish} or {}.
-- KEYS  record, due set
-- ARGV[8]  the queues that the claimant serves
local id, owner, token, lease, cap, lost, grace = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])

local record = redis.call('HMGET', KEYS[1], 'state', 'attempt', 'tenant', 'request', 'token', 'lease_until', 'excused', 'queue')
local state, attempt, tenant, request = record[1], tonumber(record[2]), record[3], record[4]
if not state or terminal(state) then return {} end
-- A message of the queue that it was in before may still be there.
if not string.find(ARGV[8], record[8] or 'small', 1, true) then return {} end

local at = now()
if state == 'running' then
  -- The same call, tried again after its answer was lost. (An owner is not enough: a message that killed
  -- its process comes back to the same owner.)
  if record[5] == token then return {attempt, tenant, request, {}} end
  if tonumber(record[6]) > at then return {} end
end

if attempt - tonumber(record[7] or 0) >= tonumber(cap) then
  redis.call('HSET', KEYS[1], 'error', lost)
  finish(KEYS[1], KEYS[2], id, 'failed')
  return {}
end

become(KEYS[1], id, 'running')
redis.call('HSET', KEYS[1], 'attempt', attempt + 1, 'owner', owner, 'token', token,
  'publications', 1,
  'started', stamp(at), 'seen', stamp(at), 'lease_until', stamp(at + lease),
  'fraction', 0, 'message', '')
enter(KEYS[1], 'starting')
redis.call('ZREM', QUEUED, id)
count('started')
redis.call('ZADD', KEYS[2], stamp(at + lease), id)
announce(KEYS[1])
local messages = {}
let_in(tenant, record[8] or 'small', KEYS[2], grace, messages)
return {attempt + 1, tenant, request, messages}
