-- Why: people name a claim by its last digits, and write it with other separators. The letters and digits, in lower case and reversed,
-- make whole names, endings and other spellings one range. 64 characters: a B-tree refuses long keys. In the order of bytes.

CREATE INDEX CONCURRENTLY decision_reference_ending ON notifications.decision (
  (left(reverse(regexp_replace(lower((variables ->> 'locator') COLLATE "C"), '[^a-z0-9\u00c0-\u1fff\u2c00-\U0010ffff]+', '', 'g')), 64))
);
