-- Why: see 0015. Each table has a file of its own: a transaction that locks two could wait for one that uses them in another order.
ALTER TABLE notifications.pruning ALTER COLUMN id DROP IDENTITY, ALTER COLUMN id SET DEFAULT notifications.next_id();
