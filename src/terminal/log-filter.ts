import { type Command, Option } from 'commander'
import { CHANNELS } from '../service/decide/party/channel.ts'
import { type LogFilter, type LogFilterName, logFilter } from '../service/model/log/log-filter.ts'
import { STATUSES } from '../service/model/log/status.ts'
import { choiceOption, notBlank, parseId, partyOption } from './options.ts'

const textOption = (flags: string, meaning: string) => new Option(flags, meaning).argParser(notBlank)

/** Filters that are no option of every command: times have words of each, and a reason is compared by its beginning. */
type OfEachCommand = 'locator' | 'notTold' | 'reason' | 'from' | 'to'

/** The option of each filter of the log. */
const OPTIONS: Readonly<Record<Exclude<LogFilterName, OfEachCommand>, Option>> = {
  partyLocator: partyOption('only entries of this member'),
  reference: textOption('--reference <text>', 'only entries about this claim, policy or invoice'),
  eventId: textOption('--event-id <id>', 'only the entry of this event'),
  eventType: textOption('--event-type <type>', 'only events of this type'),
  status: choiceOption('--status <status>', 'only entries with this status', STATUSES),
  channel: choiceOption('--channel <channel>', 'only entries by this channel', CHANNELS),
  rule: textOption('--rule <id>', 'only entries that this rule decided last'),
  reasonPrefix: textOption('--reason <text>', 'only entries whose failure reason begins with this text'),
  request: new Option('--request <id>', 'only entries that this request retried or redrove').argParser(
    parseId,
  ),
}

export function withLogFilter(command: Command): Command {
  for (const option of Object.values(OPTIONS)) command.addOption(option)
  return command
}

/** The filters that options of `withLogFilter` set. */
export function readLogFilter(options: object): LogFilter {
  const given = new Map<string, unknown>(Object.entries(options))
  const chosen = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const value = given.get(option.attributeName())
    return value === undefined ? [] : [[name, value]]
  })
  return logFilter.parse(Object.fromEntries(chosen))
}
