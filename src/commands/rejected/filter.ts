import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Rejected } from '../../core/event/rejected-message.ts'
import { REJECTIONS } from '../../core/event/rejection.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { type RejectedFilter, readRejected } from '../../postgres/read/list-rejected-messages.ts'
import { notBlank, type Since, sinceOption, timeOf } from '../terminal/options.ts'

/** Messages are read whole, and may be large. */
const PAGE_COUNT_MAX = 20

export interface FilterOptions {
  readonly topic?: string
  readonly code?: string
  readonly since?: Since
}

/** Adds the options that choose among rejected messages. */
export function withFilter(command: Command): Command {
  return command
    .option('--topic <name>', 'only messages from this topic', notBlank)
    .addOption(
      new Option('--code <code>', 'only messages rejected with this code').choices(Object.keys(REJECTIONS)),
    )
    .addOption(sinceOption('only messages rejected since then'))
}

export async function filterOf(
  pool: DatabasePool,
  { topic, code, since }: FilterOptions,
  rest: Pick<RejectedFilter, 'ids' | 'open'>,
): Promise<RejectedFilter> {
  const sinceTime = since === undefined ? null : await timeOf(pool, since)
  return { ...rest, topic: topic ?? null, code: code ?? null, since: sinceTime }
}

/** Rejected messages, oldest first, read page by page. */
export async function* rejectedMessages(
  pool: DatabasePool,
  filter: RejectedFilter,
): AsyncGenerator<Rejected> {
  for (let after = 0n; ; ) {
    const page = await readRejected(pool, filter, after, PAGE_COUNT_MAX)
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_COUNT_MAX) return
    after = last.id
  }
}

export function parseId(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('An id is a whole number above 0.')
  return BigInt(text)
}

export function helpOf(exitCodes: string, example: string): string {
  return `\nExit codes: ${exitCodes}.\n\nExample:\n  $ notifications-service rejected ${example}`
}
