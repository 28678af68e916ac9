-- Webhooks that are due. Each is due again after its next wait, unless `told` takes it out: so a sender may die.
-- Answers {attempt, {record}, …}.
-- KEYS  webhooks
-- ARGV[2] and further: the wait after each attempt; the one after all of them is the last
local at = now()
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', stamp(at), 'LIMIT', 0, ARGV[1])) do
  local job = 'job:' .. id
  if redis.call('HEXISTS', job, 'state') == 1 then
    local attempt = redis.call('HINCRBY', job, 'webhook', 1)
    local wait = ARGV[1 + attempt]
    if wait then
      redis.call('ZADD', KEYS[1], stamp(at + wait), id)
    else
      redis.call('ZREM', KEYS[1], id)
    end
    found[#found + 1] = attempt
    found[#found + 1] = redis.call('HGETALL', job)
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return found
