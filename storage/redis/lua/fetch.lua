-- The record, or {} where the tenant has none under this id. Another tenant's job and no job at all take the same time.
-- KEYS  record
if redis.call('HGET', KEYS[1], 'tenant') ~= ARGV[1] then return {} end
return redis.call('HGETALL', KEYS[1])
