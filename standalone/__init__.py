"""Everything on one machine: embedded Valkey, worker and service under one supervisor."""
