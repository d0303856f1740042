import { sql } from 'slonik'
import { isoTime } from '../sql/iso-time.ts'

/**
 * Since when a party had been opted out of a decision's event type, without a break; null where it was not. For a row
 * `decision` and the change of preferences `change` that it followed.
 */
export const OPTED_OUT_SINCE = sql.fragment`CASE WHEN change.after -> 'optedOutEvents' ? decision.event_type THEN (
              SELECT ${isoTime(sql.fragment`opt_out.changed_at`)}
              FROM notifications.preference_change AS opt_out
              WHERE opt_out.party_locator = change.party_locator AND opt_out.id <= change.id
                AND opt_out.before -> 'optedOutEvents' ? decision.event_type IS NOT TRUE
              ORDER BY opt_out.id DESC LIMIT 1
            ) END`
