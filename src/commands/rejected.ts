import { Command, InvalidArgumentError, Option } from 'commander'
import { createRedriver } from '../app/redriver.ts'
import { loadConfig, loadDatabaseUrl } from '../config/config.ts'
import type { DecidedBatch } from '../core/batch/batch.ts'
import { REJECTIONS, type RejectionCode } from '../core/event/event.ts'
import type { RedriveResult, Rejected } from '../core/event/rejected-message.ts'
import { printable } from '../core/text/text.ts'
import { type DatabasePool, limitSilence } from '../postgres/connection/pool.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { countRejected, type RejectedFilter, readRejected } from '../postgres/read/read-rejected.ts'
import { createLog } from '../telemetry/log.ts'
import { parseInstant } from './terminal/instant.ts'
import { accountName, agreed } from './terminal/operator.ts'
import { UsageError } from './terminal/usage-error.ts'

const PAGE_COUNT_MAX = 20

interface FilterOptions {
  topic?: string
  code?: string
  since?: string
}
interface OutputOptions {
  json?: boolean
}
interface ListOptions extends FilterOptions, OutputOptions {
  all?: boolean
  limit: number
}
interface RedriveOptions extends FilterOptions, OutputOptions {
  all?: boolean
  dryRun?: boolean
  yes?: boolean
  by?: string
}

const list = filtered(new Command('list'))
  .description('list rejected messages, oldest first, without what they hold')
  .option('--all', 'also those that a redrive has settled')
  .option('--limit <count>', 'how many at most', count, 100)
  .option('--json', 'one JSON object a line')
  .addHelpText(
    'after',
    helpOf('0 listed, 1 it could not be read, 2 wrong usage', 'list --topic claims --since 2026-01-31'),
  )
  .action(listRejected)

const show = new Command('show')
  .description('show one rejected message whole: it may hold personal data')
  .argument('<id>', 'its id, as listed', id)
  .option('--json', 'as JSON: bytes as base64, and as text where they are text')
  .addHelpText(
    'after',
    helpOf('0 shown, 1 there is none of this id, or it could not be read, 2 wrong usage', 'show 42'),
  )
  .action(showRejected)

const redrive = filtered(new Command('redrive'))
  .description('take rejected messages through the pipeline again, once what refused them is mended')
  .argument('[id...]', 'ids, as listed; else all that a filter finds and no redrive has settled', ids, [])
  .option('--all', 'without ids and without a filter: all that no redrive has settled')
  .option('--dry-run', 'write nothing, only say what would come of it')
  .option('--yes', 'do not ask first')
  .option('--by <name>', 'who is recorded to have done it; unset, the name of the account')
  .option('--json', 'one JSON object a line')
  .addHelpText(
    'after',
    helpOf(
      '0 all were redriven, whatever came of it, 1 one that was named could not be, 2 wrong usage',
      'redrive --code refused-by-database --dry-run',
    ),
  )
  .action(redriveRejected)

export const rejectedCommand = new Command('rejected')
  .description('messages that were no event, or whose row the database refused')
  .addCommand(list)
  .addCommand(show)
  .addCommand(redrive)
  .addHelpText('after', '\nExample:\n  $ notifications-service rejected list')

function helpOf(exitCodes: string, example: string): string {
  return `\nExit codes: ${exitCodes}.\n\nExample:\n  $ notifications-service rejected ${example}`
}

function filtered(command: Command): Command {
  return command
    .option('--topic <name>', 'only those of this topic')
    .addOption(new Option('--code <code>', 'only those rejected so').choices(Object.keys(REJECTIONS)))
    .option('--since <time>', 'only those rejected at this time or later, ISO 8601', time)
}

async function listRejected(options: ListOptions): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = filterOf(options, null, options.all !== true)
    let leftCount = options.limit
    for await (const rejected of pages(pool, filter)) {
      if (leftCount-- === 0) break
      print(options.json ? JSON.stringify(summaryOf(rejected)) : lineOf(rejected))
    }
    const count = await countRejected(pool, filter)
    if (!options.json) note(count > options.limit ? `${count} in all: see --limit` : `${count} in all`)
  })
}

async function showRejected(wanted: bigint, { json }: OutputOptions): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const [rejected] = await readRejected(pool, filterOf({}, [wanted], false), 0n, 1)
    if (rejected === undefined) {
      process.exitCode = 1
      return note(`there is no rejected message ${wanted}`)
    }
    print(json ? JSON.stringify(wholeOf(rejected)) : textOf(rejected))
  })
}

async function redriveRejected(wanted: bigint[], options: RedriveOptions): Promise<void> {
  const byFilter = [options.topic, options.code, options.since].some((value) => value !== undefined)
  if (wanted.length > 0 && (byFilter || options.all)) throw new UsageError('name ids or a filter, not both')
  if (wanted.length === 0 && !byFilter && !options.all)
    throw new UsageError('name ids or a filter, or say --all')
  const config = loadConfig(process.env)
  limitSilence()
  const redriver = await createRedriver(config, createLog('warn', process.stderr))
  try {
    // By its id a message is redriven again whatever came of it before; its event is logged at most once all the same.
    const filter = filterOf(options, wanted.length > 0 ? wanted : null, wanted.length === 0)
    const count = await countRejected(redriver.pool, filter)
    const missingCount = wanted.length > 0 ? new Set(wanted).size - count : 0
    if (missingCount > 0) throw new UsageError(`${missingCount} of these ids are of no rejected message`)
    if (count > 0 && !options.dryRun && !options.yes && !(await agreed(`Redrive ${count} messages?`)))
      return note('nothing was done')
    const by = options.by ?? accountName()
    const counts = { logged: 0, duplicate: 0, rejected: 0, refused: 0 }
    for await (const rejected of pages(redriver.pool, filter)) {
      const outcome =
        refusalOf(rejected) ??
        (options.dryRun
          ? foreseen(await redriver.tryOut(rejected))
          : { ...(await redriver.redrive(rejected, by)), note: '' })
      counts[outcome.result]++
      print(options.json ? json({ id: rejected.id, ...outcome }) : `${rejected.id}  ${sentenceOf(outcome)}`)
    }
    const sum = `logged ${counts.logged}, logged already ${counts.duplicate}, rejected still ${counts.rejected}, not redriven ${counts.refused}`
    if (wanted.length > 0 && counts.refused > 0) process.exitCode = 1
    note(options.dryRun ? `dry run, nothing was written: ${sum}` : sum)
  } finally {
    await redriver.close()
  }
}

interface Refused {
  readonly result: 'refused'
  readonly error: string
}
type Outcome = (RedriveResult | { result: 'logged' } | Refused) & { note: string }

/** Why a message cannot be redriven at all. A begin that happens to be a message must not be taken for the message. */
function refusalOf({ code, erasedAt }: Rejected): Outcome | null {
  if (erasedAt !== null) return { result: 'refused', error: `it was erased on ${erasedAt}`, note: '' }
  if (code !== ('too-large' satisfies RejectionCode)) return null
  const error = 'only the begin of its value is kept: have it published anew, in smaller messages'
  return { result: 'refused', error, note: '' }
}

function foreseen({ entries: [entry], rejected: [rejected] }: DecidedBatch): Outcome {
  if (rejected !== undefined) return { result: 'rejected', ...rejected.rejection, note: '' }
  if (entry === undefined) return { result: 'duplicate', note: '' }
  const { outcome, channel } = entry.decision
  return { result: 'logged', note: `event ${entry.event.eventId}: ${outcome} by ${channel}` }
}

function sentenceOf(outcome: Outcome): string {
  const said = outcome.note === '' ? '' : `  ${printable(outcome.note)}`
  if (outcome.result === 'refused') return `not redriven: ${outcome.error}`
  if (outcome.result === 'rejected') return `rejected still: ${printable(outcome.error)}`
  if (outcome.result === 'duplicate') return 'its event is logged already'
  return `logged${'locator' in outcome ? `  ${outcome.locator}` : ''}${said}`
}

async function* pages(pool: DatabasePool, filter: RejectedFilter): AsyncGenerator<Rejected> {
  for (let after = 0n; ; ) {
    const page = await readRejected(pool, filter, after, PAGE_COUNT_MAX)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_COUNT_MAX) return
    after = last.id
  }
}

function filterOf(
  { topic, code, since }: FilterOptions,
  wanted: readonly bigint[] | null,
  open: boolean,
): RejectedFilter {
  return { ids: wanted, topic: topic ?? null, code: code ?? null, since: since ?? null, open }
}

function summaryOf(rejected: Rejected) {
  const { id, topic, partition, message, code, error, rejectedAt, erasedAt, redriven } = rejected
  const { offset, value } = message
  return {
    id: String(id),
    rejectedAt,
    topic,
    partition,
    offset: String(offset),
    byteCount: value?.length ?? null,
    code,
    error,
    erasedAt,
    redriven,
  }
}

function lineOf(rejected: Rejected): string {
  const { id, topic, partition, offset, byteCount, error, rejectedAt, erasedAt, redriven } =
    summaryOf(rejected)
  const state = redriven === null ? '' : `  (redriven ${redriven.at}: ${redriven.result.result})`
  const size = erasedAt === null ? `${byteCount ?? 'no'} bytes` : 'erased'
  return `${id}  ${rejectedAt}  ${topic}/${partition}@${offset}  ${size}  ${printable(error)}${state}`
}

function wholeOf(rejected: Rejected) {
  const { key, value, headers } = rejected.message
  return {
    ...summaryOf(rejected),
    key: bytesOf(key),
    value: bytesOf(value),
    headers: Object.fromEntries(Object.entries(headers).map(([name, values]) => [name, values.map(bytesOf)])),
  }
}

function bytesOf(bytes: Uint8Array | null) {
  if (bytes === null) return null
  const text = asText(bytes)
  return { base64: Buffer.from(bytes).toString('base64'), ...(text === null ? {} : { text }) }
}

function textOf(rejected: Rejected): string {
  const { key, value, headers } = rejected.message
  const shown = Object.entries(headers).flatMap(([name, values]) =>
    values.map((each) => `header     ${printable(name)}: ${shownBytes(each)}`),
  )
  const { redriven } = rejected
  return [
    `id         ${rejected.id}`,
    `from       ${rejected.topic}/${rejected.partition}, offset ${rejected.message.offset}`,
    `rejected   ${rejected.rejectedAt}, ${rejected.code}: ${printable(rejected.error)}`,
    redriven === null
      ? 'redriven   never'
      : `redriven   ${redriven.at} by ${printable(redriven.by)}: ${sentenceOf({ ...redriven.result, note: '' })}`,
    ...(rejected.erasedAt === null ? [] : [`erased     ${rejected.erasedAt}`]),
    `key        ${shownBytes(key)}`,
    ...shown,
    `value      ${shownBytes(value)}`,
  ].join('\n')
}

function shownBytes(bytes: Uint8Array | null): string {
  if (bytes === null) return 'none'
  return asText(bytes) ?? `${bytes.length} bytes, base64: ${Buffer.from(bytes).toString('base64')}`
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text that the bytes are; null where they are none, or where a terminal would not just show it. */
function asText(bytes: Uint8Array): string | null {
  try {
    const text = UTF8.decode(bytes)
    // Tabs and line breaks do no harm.
    const line = text.replace(/[\t\n\r]/g, '')
    return printable(line) === line ? text : null
  } catch {
    return null
  }
}

/** bigint as text. */
function json(value: object): string {
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function note(line: string): void {
  process.stderr.write(`${line}\n`)
}

function id(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('an id is a whole number above 0.')
  return BigInt(text)
}

function ids(text: string, previous: bigint[]): bigint[] {
  return [...previous, id(text)]
}

function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be a whole number above 0.')
  return Number(text)
}

function time(text: string): string {
  const instant = parseInstant(text, 'start')
  if (instant === null) throw new InvalidArgumentError('write 2026-01-31, or 2026-01-31T12:00:00Z.')
  return instant
}
