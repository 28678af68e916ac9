-- Webhooks that are due, ARGV[1] at most, as many of each tenant. Each is due again after its next wait, unless `told` takes it
-- out: so a sender may die. Answers {attempt, {record}, …}.
-- ARGV[2] and further: the wait after each attempt; the one after all of them is the last
local at, left = now(), tonumber(ARGV[1])
local found, due = {}, {}
local tenants = redis.call('ZRANGEBYSCORE', WEBHOOKS, '-inf', stamp(at), 'LIMIT', 0, ARGV[1])
for _, tenant in ipairs(tenants) do due[tenant] = redis.call('ZCOUNT', webhooks_of(tenant), '-inf', stamp(at)) end
table.sort(tenants, function(one, other) return due[one] < due[other] end)
for place, tenant in ipairs(tenants) do
  -- What those with few do not need goes to those with many.
  local own, share = webhooks_of(tenant), math.floor(left / (#tenants - place + 1))
  left = left - math.min(share, due[tenant])
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', own, '-inf', stamp(at), 'LIMIT', 0, share)) do
    local job = 'job:' .. id
    local attempt = redis.call('HINCRBY', job, 'webhook', 1)
    local wait = ARGV[1 + attempt]
    if wait then
      redis.call('ZADD', own, stamp(at + wait), id)
    else
      redis.call('ZREM', own, id)
    end
    found[#found + 1] = attempt
    found[#found + 1] = redis.call('HGETALL', job)
  end
  place_by_webhooks(tenant)
end
return found
