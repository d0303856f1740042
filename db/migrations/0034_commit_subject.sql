-- Why: a list of earlier rule tables says what each commit was about, and not only its id.

ALTER TABLE notifications.rule_table_activation ADD COLUMN git_subject text;
