-- Why: a list by reference continued after a locator by reading all decisions about the reference anew: seconds a page with many of
-- them. With the locator, the index lists them in order, and a page reads its own. It finds the same as the index that it replaces.

CREATE INDEX CONCURRENTLY decision_reference_locator ON notifications.decision ((left(variables ->> 'locator', 255)) text_pattern_ops, locator);
