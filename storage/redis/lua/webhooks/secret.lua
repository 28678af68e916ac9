-- The tenant's webhook secret: the one there is, or else the one that is offered.
-- KEYS  the tenant's secrets
redis.call('HSETNX', KEYS[1], 'webhook', ARGV[1])
return redis.call('HGET', KEYS[1], 'webhook')
