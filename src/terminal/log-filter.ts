import { type Command, Option } from 'commander'
import { LOG_FILTER_LIST, type LogFilter } from '../service/model/log/log-filters.ts'
import { choiceOption, notBlank, parseId, partyOption } from './options.ts'

/** The option of each filter that all commands have. */
const OPTIONS = LOG_FILTER_LIST.flatMap(([name, { values, only, flags }]): [string, Option][] => {
  if (flags === undefined) return []
  const meaning = `only entries ${only}`
  if (name === 'partyLocator') return [[name, partyOption(meaning)]]
  if (typeof values !== 'string') return [[name, choiceOption(flags, meaning, values)]]
  return [[name, new Option(flags, meaning).argParser(values === 'id' ? parseId : notBlank)]]
})

export function withLogFilter(command: Command): Command {
  for (const [, option] of OPTIONS) command.addOption(option)
  return command
}

/** The filters that options of `withLogFilter` set. */
export function readLogFilter(options: object): LogFilter {
  const given = new Map<string, unknown>(Object.entries(options))
  const chosen = OPTIONS.map(([name, option]) => [name, given.get(option.attributeName())] as const)
  return Object.fromEntries(chosen.filter(([, value]) => value !== undefined))
}
