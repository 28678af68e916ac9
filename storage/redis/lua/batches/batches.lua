-- A tenant's batches, newest first. Answers {cursor of the next page or '', batch, …}.
-- KEYS  the tenant's batches
local tenant, before, limit = ARGV[1], ARGV[2], tonumber(ARGV[3])
local upper = before == '' and '+inf' or '(' .. before
local found = redis.call('ZREVRANGEBYSCORE', KEYS[1], upper, '-inf', 'WITHSCORES', 'LIMIT', 0, limit + 1)
local page = {''}
for i = 1, math.min(#found, 2 * limit), 2 do page[#page + 1] = redis.call('HGETALL', batch_of(tenant, found[i])) end
if #found > 2 * limit then page[1] = found[2 * limit] end
return page
