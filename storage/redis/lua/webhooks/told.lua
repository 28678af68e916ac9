-- Records that a webhook was delivered, or never will be: it is not due again.
-- KEYS  webhooks
redis.call('ZREM', KEYS[1], ARGV[1])
count(ARGV[2])
return 1
