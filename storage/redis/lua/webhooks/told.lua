-- Records that a job's webhook was delivered, or never will be: it is not due again.
local tenant = redis.call('HGET', 'job:' .. ARGV[1], 'tenant')
if tenant then
  redis.call('ZREM', webhooks_of(tenant), ARGV[1])
  place_by_webhooks(tenant)
end
count(ARGV[2])
return 1
