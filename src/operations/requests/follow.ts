import { setTimeout as sleep } from 'node:timers/promises'
import { ENVELOPE_MAP, readText } from '../../service/app/authored-files.ts'
import { loadRetryLimits } from '../../service/config/config.ts'
import { loadEnvelopeMaps } from '../../service/decide/event/envelope-map.ts'
import {
  NAMED_COUNT_MAX,
  type RequestPreview,
  type RequestTarget,
  type StoredRequest,
} from '../../service/model/request/schemas.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { addRequest } from '../../service/store/write/request-row.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { confirm, requireBecause, type WriteOptions } from '../../terminal/confirm.ts'
import { UsageError } from '../../terminal/options.ts'
import { note, print, showProgress } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { describeResults, describeWanted, groupUnchanged } from './describe-request.ts'
import { getRequest } from './list-requests.ts'
import { previewRequest } from './preview-request.ts'
import { resolveTarget } from './resolve-target.ts'
import type { WantedTarget } from './wanted.ts'

/** Options of every command that makes a request. */
export interface AskOptions extends WriteOptions {
  readonly because?: string
}

const POLL_MS = 500
/** A running service starts a request within a few seconds. */
const TAKEN_MS = 15_000
const NOT_TAKEN = 'no running service has started it yet; it waits for one'
/** The exit codes of a command ended by a terminal or by a Job's deadline. */
const ENDED_BY = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const

/** The exit codes of the commands that make requests. */
export const ASK_EXIT_CODES =
  '0 done, or nothing fits the filter, 1 declined, stopped or cancelled, or an item given by its name was left unchanged, 130 or 143 ended by a signal while the request goes on'

/** The end of their help. */
export const ASK_HELP = `
The running service does it, by its rules, texts and contacts: this command needs DATABASE_URL alone. It shows the progress until
the end. While a hold is in force, or policy administration is down, the request waits; so does the command, which shows the reason.
Ctrl-C, or the deadline of a Job, ends the command, not the request: see \`requests\`.`

const BECAUSE_MISSING = `--because is missing: the reason, without the name of a person; it is recorded
Add it to the command, as in: --because "the envelope map is corrected"
Or add --dry-run: it shows what the request would be for, and asks for nothing`

/** Throws UsageError if a reason is required and missing, or for too many items. */
export function checkAsked(options: AskOptions, names: readonly unknown[]): void {
  if (names.length > NAMED_COUNT_MAX)
    throw new UsageError(`give at most ${NAMED_COUNT_MAX} at once, or use a filter`)
  requireBecause(options, BECAUSE_MISSING)
}

/** Shows a preview of a request; unless it is a dry run, asks on the terminal, adds the request and follows it to its end. */
export async function ask(
  world: World,
  pool: DatabasePool,
  wanted: WantedTarget,
  options: AskOptions,
): Promise<void> {
  const { because = '', by, dryRun, json } = options
  const target = await resolveTarget(pool, wanted)
  const words = describeWanted(target)
  const isQuiet = options.yes && !dryRun
  const preview = isQuiet ? null : await readPreview(world, pool, target)
  if (dryRun) return showPreview(world, words, preview as RequestPreview, json)
  if (preview !== null && !(await isConfirmed(world, target, words, preview, options)))
    return note(world, 'Not confirmed: nothing was requested')
  await follow(world, pool, await addRequest(pool, target, by, because), json)
}

async function readPreview(world: World, pool: DatabasePool, target: RequestTarget): Promise<RequestPreview> {
  const maps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  return previewRequest(pool, loadRetryLimits(world.env), target, maps)
}

async function showPreview(world: World, words: string, preview: RequestPreview, json?: true): Promise<void> {
  if (json) return print(world, JSON.stringify(preview))
  await print(world, ...describePreview(preview))
  note(world, `Dry run, nothing was requested: ${words}, by their last reasons; the service decides again`)
}

async function isConfirmed(
  world: World,
  { kind }: RequestTarget,
  words: string,
  preview: RequestPreview,
  options: AskOptions,
): Promise<boolean> {
  for (const line of describePreview(preview)) note(world, line)
  if (preview.count === 0) return true
  const lost = kind === 'skip' ? ' Its events are lost unless they are published again.' : ''
  return confirm(world, `Ask the service for the ${words}?${lost}`, options)
}

function describePreview({ count, isMore, groups }: RequestPreview): string[] {
  const more = isMore ? `more than ${count} items; of the first:` : counted(count, 'item')
  return [
    more,
    ...groups.map((group) => {
      const unchanged = group.isUnchanged ? 'would be left unchanged: ' : ''
      return `  ${group.count}  ${unchanged}${printable(group.reason)}`
    }),
  ]
}

/** Shows the progress of a request until it ends, then its results. Sets the exit code. */
async function follow(world: World, pool: DatabasePool, id: string, json?: true): Promise<void> {
  note(world, `request ${id}: requested`)
  for (const [signal, code] of ENDED_BY)
    world.once(signal, () => {
      note(world, `request ${id} stays; \`requests show ${id}\` shows it, \`requests cancel ${id}\` ends it`)
      world.exit(code)
    })
  const startedMs = performance.now()
  let noted: string | null = null
  for (;;) {
    const request = await getRequest(pool, id)
    if (request === null) throw new Error(`request ${id} is gone`)
    if (request.endedAt !== null) return showEnd(world, request, json)
    showProgress(world, describeState(request))
    const isLate = request.state === 'waiting' && performance.now() - startedMs > TAKEN_MS
    const why = request.note ?? (isLate ? NOT_TAKEN : null)
    if (why !== null && why !== noted) {
      noted = why
      note(world, `request ${id} waits: ${printable(why)}. \`requests cancel ${id}\` ends it`)
    }
    await sleep(POLL_MS)
  }
}

async function showEnd(world: World, request: StoredRequest, json?: true): Promise<void> {
  await print(world, ...(json ? [JSON.stringify(request)] : describeRequest(request)))
  const target = request.target as object
  const isNamed = 'locators' in target || 'ids' in target
  if (request.state !== 'done' || (isNamed && request.unchanged.length > 0)) world.exitCode = 1
}

/** One line: id, state and results. */
export function describeState(request: StoredRequest): string {
  const { id, state, note } = request
  const results = describeResults(request)
  return [`request ${id} ${state}`, results, note === null ? '' : printable(note)].filter(Boolean).join(': ')
}

/** A request in lines: target, author, reason, state, and the items left unchanged. */
export function describeRequest(request: StoredRequest): string[] {
  const { by, because, requestedAt, endedAt, counts, unchanged } = request
  const groups = groupUnchanged(unchanged)
  const more = groups.reduce((left, { count }) => left - count, counts.unchanged ?? 0)
  return [
    describeState(request),
    `  ${printable(describeWanted(request))}`,
    `  asked for by ${printable(by)} at ${requestedAt}: ${printable(because)}`,
    ...(endedAt === null ? [] : [`  ended at ${endedAt}`]),
    ...groups.flatMap(({ reason, items, count }) => [
      ...items.map((item) => `  ${item}  left unchanged: ${printable(reason)}`),
      ...(count > items.length ? [`  and ${count - items.length} more of this reason`] : []),
    ]),
    ...(more > 0 ? [`  and ${more} more left unchanged`] : []),
  ]
}
