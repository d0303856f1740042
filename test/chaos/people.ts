import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type pg from 'pg'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'
import { createRandom } from '../stack/random.ts'
import { forgottenParties } from './parties.ts'
import { REFUSED_EVENT_TYPE } from './truth.ts'

/** Times are milliseconds since 1970. */
export interface Erasure {
  readonly party: string
  readonly startedMs: number
  /** Null if the command did not succeed. */
  readonly endedMs: number | null
}

/** Whatever fails for long must still be tried at the end, and is not pruned. */
export const RETRY_LIMITS = { RETRY_MAX_AGE: '1000d', RETRY_MAX_ATTEMPTS: '1000' }

/** As if two days had passed since. Not what may be under way: a copy must not be rejected after the row, yet stay young. */
const AGE_SQL = `
  WITH old AS (
    UPDATE notifications.notification_log SET created_at = created_at - interval '2 days'
    WHERE event_id ~ '0( |$)' AND created_at BETWEEN now() - interval '1 day' AND now() - interval '15 s'
    RETURNING locator
  )
  UPDATE notifications.decision SET decided_at = decided_at - interval '2 days'
  WHERE locator IN (SELECT locator FROM old)`
const AGE_REJECTED_SQL = `
  UPDATE notifications.rejected_message SET rejected_at = rejected_at - interval '2 days'
  WHERE rejected_at > now() - interval '1 day' AND encode(value, 'escape') ~ '^(\\{"eventId":"[^"]*|hello .*)0( [^"]*)?("|$)'`

/** Of what the database refuses and nobody has redriven: half is mended, a quarter is junk. */
const MEND_SQL = `
  WITH refused AS (
    SELECT id, substring(convert_from(value, 'UTF8') FROM '"eventId":"([^"]*)"') AS event_id FROM notifications.rejected_message AS message
    WHERE code = 'refused-by-database' AND value IS NOT NULL
      AND NOT EXISTS (SELECT FROM notifications.redrive WHERE rejected_message_id = message.id)
    ORDER BY id LIMIT 100
  ), mended AS (
    INSERT INTO chaos.mended SELECT DISTINCT event_id FROM refused WHERE md5(event_id) < '8' ON CONFLICT DO NOTHING
  )
  SELECT id, md5(event_id) > 'c' AS junk FROM refused`

/** The database refuses an event's row until it is mended. */
export const REFUSE_SQL = `
  CREATE TABLE chaos.mended (event_id text PRIMARY KEY);
  CREATE FUNCTION chaos.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT EXISTS (SELECT FROM chaos.mended WHERE event_id = NEW.event_id) THEN
      RAISE check_violation USING MESSAGE = 'not mended yet';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER refuse BEFORE INSERT ON notifications.notification_log
    FOR EACH ROW WHEN (NEW.event_type = '${REFUSED_EVENT_TYPE}') EXECUTE FUNCTION chaos.refuse();`

const START_MS_MAX = 10_000
const COMMAND_MS_MAX = 30_000
const TRY_COUNT_MAX = 5
const TRY_PAUSE_MS = 1_000
const AS_CHAOS = ['--yes', '--by', 'chaos']

interface Reach {
  readonly databaseUrl: string
  readonly withDatabase: <T>(work: (client: pg.ClientBase) => Promise<T>) => Promise<T>
}

/** Operators who run commands while everything fails. */
export class People {
  readonly erasures: Erasure[] = []
  readonly #random: ReturnType<typeof createRandom>
  readonly #stack: Reach

  constructor(seed: number, stack: Reach) {
    this.#random = createRandom(seed ^ 0x9e0b)
    this.#stack = stack
  }

  /** Once a cycle. Rows whose ids end in 0 are aged and pruned: see `createLoad`. */
  async act(): Promise<void> {
    await Promise.all([this.#erase(), this.#askForRetries(), this.#settleRejected(), this.#prune()])
  }

  async #erase(): Promise<void> {
    const party = this.#random.pick(forgottenParties())
    await sleep(this.#random.below(START_MS_MAX))
    const startedMs = Date.now()
    let isDone = false
    for (let count = 0; count < TRY_COUNT_MAX && !isDone; count++) {
      if (count > 0) await sleep(TRY_PAUSE_MS)
      isDone = await this.#succeeds('erase', '--party', party, ...AS_CHAOS)
    }
    this.erasures.push({ party, startedMs, endedMs: isDone ? Date.now() : null })
  }

  /** Of all who had opted out: whoever has opted in since is told after all. */
  async #askForRetries(): Promise<void> {
    await sleep(this.#random.below(START_MS_MAX))
    await this.#succeeds('retry', '--since', '1h', '--rule', 'opted-out', '--because', 'chaos', ...AS_CHAOS)
  }

  /** Two people redrive the same messages. */
  async #settleRejected(): Promise<void> {
    await sleep(this.#random.below(START_MS_MAX))
    const mend = () => this.#stack.withDatabase(async (client) => (await client.query(MEND_SQL)).rows)
    const refused: { id: string; junk: boolean }[] = await mend().catch(() => [])
    const { junk = [], wanted = [] } = Object.groupBy(refused, (message) =>
      message.junk ? 'junk' : 'wanted',
    )
    const ask = async (what: string, messages: readonly { id: string }[]) => {
      const ids = messages.map(({ id }) => id)
      if (ids.length > 0) await this.#succeeds('rejected', what, ...ids, '--because', 'chaos', ...AS_CHAOS)
    }
    await Promise.all([
      ask('redrive', wanted),
      ask('redrive', wanted.toReversed()),
      ask('dismiss', junk),
      this.#succeeds('rejected', 'dismiss', '--code', 'not-json', '--because', 'chaos', ...AS_CHAOS),
    ])
  }

  async #prune(): Promise<void> {
    await sleep(this.#random.below(START_MS_MAX))
    const isAged = await this.#stack
      .withDatabase(async (client) => {
        await client.query(AGE_SQL)
        await client.query(AGE_REJECTED_SQL)
      })
      .then(
        () => true,
        () => false,
      )
    if (isAged) await this.#succeeds('prune', '--older-than', '1d', ...AS_CHAOS)
  }

  #succeeds(...args: readonly string[]): Promise<boolean> {
    const env = { ...EXECUTABLE_ENV, ...RETRY_LIMITS, DATABASE_URL: this.#stack.databaseUrl }
    return promisify(execFile)(MAIN, args, { env, timeout: COMMAND_MS_MAX, killSignal: 'SIGKILL' }).then(
      () => true,
      () => false,
    )
  }
}
