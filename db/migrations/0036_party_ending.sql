-- Why: see 0035, for members.

CREATE INDEX CONCURRENTLY notification_log_party_ending ON notifications.notification_log (
  (left(reverse(regexp_replace(lower(party_locator COLLATE "C"), '[^a-z0-9\u00c0-\u1fff\u2c00-\U0010ffff]+', '', 'g')), 64))
);
