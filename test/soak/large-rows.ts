// node test/stack/with-stack.ts -- node test/soak/large-rows.ts
// ROWS (5,000) failed rows with texts and variables of ROW_KB (900) each: `serve` retries and lists them, and the commands read
// them. Exits 1 if a process takes more than 500 MB, or does not read every row.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setInterval } from 'node:timers/promises'
import { numberFrom } from '../stack/environment.ts'
import { EXECUTABLE_ENV, MAIN, preloading } from '../stack/executable.ts'
import { until } from '../stack/until.ts'
import { createWorld } from '../stack/world.ts'
import { result, say } from './report.ts'

const PEAK_MB_MAX = 500
const SAMPLE_MS = 50
const LISTS_AT_ONCE = 4
const PATIENCE_MS = 900_000
const PARTY = 'party-1'
/** Sleeps of a minute take 3 s. */
const SHORT_MINUTE = preloading(new URL('../service/short-minute.ts', import.meta.url))

const rowCount = numberFrom('ROWS', 5_000)
const rowBytes = numberFrom('ROW_KB', 900) * 1_000
const world = await createWorld({ partitionCount: 1 })
const findings: Record<string, boolean> = {}
try {
  await fill()
  say(`the log has ${rowCount} failed rows of ${rowBytes / 1_000} kB`)
  await measureService()
  await command(['replay', '--verify', '--json'])
  await command(['rules', 'backtest', '--since', '1d'])
  await command(['export', '--party', PARTY], rowCount)
  await command(['log', '--since', '1d', '--json'], rowCount)
  await world.sql(`
    UPDATE notifications.notification_log SET status = 'SKIPPED', subject = NULL, body = NULL, sent_at = NULL, failure_reason = 'x'`)
  await command(['retry', '--since', '1d', '--because', 'a soak test', '--yes', '--json'], rowCount)
  await moveToRejected()
  await command(['rejected', 'redrive', '--all', '--yes', '--json'], rowCount)
  await command(['erase', '--party', PARTY, '--yes'])
  result(findings)
} finally {
  await world.close()
}

/** Text of two bytes per character in memory, which compresses well: the database stays small. */
async function fill(): Promise<void> {
  const text = `repeat('€uro ', ${Math.floor(rowBytes / 7)})`
  await world.sql(`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count
    )
    SELECT 'NTF-' || lpad(to_hex(extract(epoch FROM now())::bigint * 1000 >> 16), 8, '0') || '-' ||
        lpad(to_hex(extract(epoch FROM now())::bigint * 1000 & 65535), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'),
      'event-' || n, '${PARTY}', 'claim.paid', 'EMAIL', 'FAILED', 'Your claim', ${text}, 'late', 0
    FROM generate_series(1, ${rowCount}) AS n`)
  await world.sql(`
    INSERT INTO notifications.decision (
      locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, facts, variables,
      rule_table_revision, topic, partition_id, "offset"
    )
    SELECT locator, 0, event_id, party_locator, event_type, 'FAIL', channel, 'unresolved', '{"party": "unresolved"}',
      jsonb_build_object('eventType', event_type, 'locator', 'CLM-1', 'reason', ${text}), 'x', 'claims', 0, 0
    FROM notifications.notification_log`)
  await world.sql('VACUUM ANALYZE notifications.notification_log, notifications.decision')
}

async function measureService(): Promise<void> {
  const service = await world.spawn(SHORT_MINUTE)
  const peak = watchPeak(service.pid)
  const leftQuery = `SELECT count(*)::int AS count FROM notifications.notification_log WHERE status = 'FAILED'`
  const startedMs = performance.now()
  await until(async () => (await world.sql(leftQuery))[0]?.count === 0, {
    what: 'every row to be sent',
    timeoutMs: PATIENCE_MS,
    intervalMs: 500,
  })
  const retriedMs = performance.now() - startedMs
  const retriedMb = peak.peakMb()
  say(`retried in ${(retriedMs / 1_000).toFixed(1)} s, ${retriedMb} MB at most`)
  const counts = await Promise.all(Array.from({ length: LISTS_AT_ONCE }, () => listAll(service.url)))
  const peakMb = await peak.end()
  say(`listed ${LISTS_AT_ONCE} times at once, ${peakMb} MB at most`)
  findings[`serve retries within ${PEAK_MB_MAX} MB: ${retriedMb} MB`] = retriedMb <= PEAK_MB_MAX
  findings[`${LISTS_AT_ONCE} lists at once have every entry, within ${PEAK_MB_MAX} MB: ${peakMb} MB`] =
    peakMb <= PEAK_MB_MAX && counts.every((count) => count === rowCount)
  await service.stop()
}

async function listAll(url: string): Promise<number> {
  let count = 0
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const after = cursor === undefined ? '' : `&cursor=${cursor}`
    const response = await fetch(`${url}/log/list?limit=200${after}`)
    const page = (await response.json()) as { items: unknown[]; nextCursor: string | null }
    count += page.items.length
    cursor = page.nextCursor
  }
  return count
}

/** Runs a command to its end, and counts its lines. */
async function command(args: readonly string[], lineCount?: number): Promise<void> {
  const name = args
    .filter((arg) => /^[a-z]/.test(arg))
    .slice(0, 2)
    .join(' ')
  const child = spawn(MAIN, args, {
    env: { ...EXECUTABLE_ENV, ...world.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const peak = watchPeak(child.pid ?? 0)
  const startedMs = performance.now()
  let count = 0
  const stderr: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line))
  const lines = createInterface({ input: child.stdout }).on('line', () => count++)
  await Promise.all([once(child, 'close'), once(lines, 'close')])
  const peakMb = await peak.end()
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  say(`${name}: ${count} lines in ${seconds} s, ${peakMb} MB at most, exit code ${child.exitCode}`)
  if (stderr.length > 0) say(stderr.slice(-2).join('\n').slice(0, 300))
  const isWhole = lineCount === undefined || count >= lineCount
  findings[`${name} works within ${PEAK_MB_MAX} MB: ${peakMb} MB`] = peakMb <= PEAK_MB_MAX && isWhole
}

/** The rows' events as rejected messages, of which none has a row. */
async function moveToRejected(): Promise<void> {
  await world.sql(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
    SELECT '${world.topics.claims}', 0, row_number() OVER (), convert_to(jsonb_build_object(
      'eventId', event_id, 'eventType', event_type, 'partyLocator', party_locator, 'payload', jsonb_build_object(
        'locator', 'CLM-1', 'reason', variables ->> 'reason'
      ))::text, 'UTF8'), '{}', 'refused-by-database', 'x'
    FROM notifications.decision WHERE attempt = 0`)
  await world.sql('TRUNCATE notifications.notification_log, notifications.decision')
}

/** Watches the resident memory of a process. */
function watchPeak(pid: number) {
  const stopped = new AbortController()
  let peakMb = 0
  const sampling = (async () => {
    for await (const _ of setInterval(SAMPLE_MS, null, { signal: stopped.signal })) {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
      const kb = /^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]
      peakMb = Math.max(peakMb, Math.round(Number(kb ?? 0) / 1024))
    }
  })().catch(() => {})
  return {
    peakMb: () => peakMb,
    end: async () => {
      stopped.abort()
      await sampling
      return peakMb
    },
  }
}
