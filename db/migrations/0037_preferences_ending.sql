-- Why: see 0035, for members of whom no event came yet.

CREATE INDEX CONCURRENTLY notification_preferences_party_ending ON notifications.notification_preferences (
  (left(reverse(regexp_replace(lower(party_locator COLLATE "C"), '[^a-z0-9\u00c0-\u1fff\u2c00-\U0010ffff]+', '', 'g')), 64))
);
