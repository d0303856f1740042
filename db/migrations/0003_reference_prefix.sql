-- Why: a B-tree refuses keys of more than 2,704 bytes, so an event with a longer reference had no row. The first 255 characters
-- find it, and the whole value is compared. A prefix and not a hash: references of one time are near each other, so that the
-- index grows at few pages.

CREATE INDEX CONCURRENTLY decision_reference_prefix ON notifications.decision ((left(variables ->> 'locator', 255)));
