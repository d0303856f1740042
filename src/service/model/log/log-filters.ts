import { CHANNELS } from '../../decide/party/channel.ts'
import { STATUSES } from './status.ts'

interface LogFilterKind {
  /** Its values: any text, a time, an id in digits, `true` alone, or one of some words. */
  readonly values: 'text' | 'time' | 'id' | 'true' | readonly string[]
  /** Its field in the console; null if neither the console nor the API has it. */
  readonly label: string | null
  /** Its words in sentences about requests, if not the label; null: left out. */
  readonly words?: string | null
  /** The entries that it selects. */
  readonly only: string
  /** Its option in commands; absent: each command has its own, or none. */
  readonly flags?: string
}

/**
 * The filters of the log; an entry must match all that are given. The API, the console, the commands and sentences derive from this
 * table; list-log-entries.ts holds the SQL conditions.
 */
export const LOG_FILTERS = {
  notTold: {
    values: 'true',
    label: 'Members',
    words: null,
    only: 'whose member was not told and will not be: SKIPPED, or FAILED past the last retry',
  },
  eventType: {
    values: 'text',
    label: 'Event type',
    only: 'about events of this type',
    flags: '--event-type <type>',
  },
  status: { values: STATUSES, label: 'Status', only: 'with this status', flags: '--status <status>' },
  channel: { values: CHANNELS, label: 'Channel', only: 'by this channel', flags: '--channel <channel>' },
  reason: {
    values: 'text',
    label: 'Reason',
    only: 'with this failure reason, or with one that begins with it and a colon',
  },
  rule: { values: 'text', label: 'Rule', only: 'that this rule decided last', flags: '--rule <id>' },
  from: { values: 'time', label: 'From', only: 'created then or later' },
  to: { values: 'time', label: 'Before', only: 'created earlier' },
  partyLocator: {
    values: 'text',
    label: 'Member',
    only: 'of this member',
    flags: '--member, --party <locator>',
  },
  reference: {
    values: 'text',
    label: 'Claim, policy or invoice',
    words: 'reference',
    only: 'about this claim, policy or invoice: the locator of their events',
    flags: '--reference <text>',
  },
  eventId: { values: 'text', label: 'Event ID', only: 'of this event', flags: '--event-id <id>' },
  request: {
    values: 'id',
    label: 'Request',
    only: 'that this request retried or redrove',
    flags: '--request <id>',
  },
  locator: { values: 'text', label: null, words: 'locator', only: 'with this locator' },
  reasonPrefix: {
    values: 'text',
    label: 'Reason begins with',
    words: 'reason',
    only: 'whose failure reason begins with this text',
    flags: '--reason <text>',
  },
} as const satisfies Readonly<Record<string, LogFilterKind>>

type Filters = typeof LOG_FILTERS
export type LogFilterName = keyof Filters
/** Filters that the API and the console have. */
export type ChosenFilterName = {
  [Name in LogFilterName]: Filters[Name]['label'] extends null ? never : Name
}[LogFilterName]
type ValueOf<Values> = Values extends readonly string[]
  ? Values[number]
  : Values extends 'true'
    ? true
    : string

/** Times are in the format of an entry. */
export type LogFilter<Time = string> = {
  readonly [Name in LogFilterName]?:
    | (Filters[Name]['values'] extends 'time' ? Time : ValueOf<Filters[Name]['values']>)
    | undefined
}

export const LOG_FILTER_LIST = Object.entries(LOG_FILTERS) as readonly (readonly [
  LogFilterName,
  LogFilterKind,
])[]

export function isChosen(name: LogFilterName): name is ChosenFilterName {
  return LOG_FILTERS[name].label !== null
}
