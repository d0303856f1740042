-- Why: `audit` accounts for the offsets that `rejected skip` passed over. The last one was only in the words of the record, which
-- an erasure deletes.
ALTER TABLE notifications.rejected_message ADD COLUMN skipped_to bigint;
ALTER TABLE notifications.rejected_message
  ADD CONSTRAINT rejected_message_skipped_to_known CHECK (skipped_to >= "offset") NOT VALID;
