import type { Command } from 'commander'
import { REJECTIONS } from '../../service/decide/event/rejection.ts'
import type { Since } from '../../service/time/duration.ts'
import {
  addId,
  choiceOption,
  notBlank,
  sinceOption,
  UsageError,
  untilOption,
} from '../../terminal/options.ts'

export interface FilterOptions {
  /** `list`: include settled messages. Other commands: all unsettled messages. */
  readonly all?: true
  readonly topic?: string
  readonly code?: string
  readonly since?: Since
  readonly until?: Since
}

export function withFilter(command: Command): Command {
  return command
    .option('--topic <name>', 'only messages from this topic', notBlank)
    .addOption(
      choiceOption('--code <code>', 'only messages rejected with this code', Object.keys(REJECTIONS)),
    )
    .addOption(sinceOption('only messages rejected since then'))
    .addOption(untilOption('only messages rejected up to then'))
}

/** Adds ids, a filter and `--all`; a writing command requires one of them. */
export function withChoice(command: Command): Command {
  return withFilter(command)
    .argument('[id...]', 'ids, as listed; without them, all unsettled messages that match the filter', addId)
    .option('--all', 'instead of ids or a filter: all unsettled messages')
}

/** Throws UsageError unless exactly one of ids, filter and `--all` is given. */
export function choose(ids: readonly string[], { topic, code, since, until, all }: FilterOptions) {
  const byFilter = [topic, code, since, until].some((value) => value !== undefined)
  const isById = ids.length > 0
  if (isById && (byFilter || all)) throw new UsageError('give ids or a filter, not both')
  if (!isById && !byFilter && !all) throw new UsageError('give ids, a filter or --all')
  return isById ? { ids } : { filter: { topic, code, since, before: until } }
}
