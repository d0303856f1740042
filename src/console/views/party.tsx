import { CHANNEL_NAMES } from '../../core/decision/channel.ts'
import type { ListedLogEntry } from '../../core/log/log-entry.ts'
import type { PreferenceChange, PreferenceHistory, StoredPreferences } from '../../core/party/preferences.ts'
import { Download } from '../download.tsx'
import { ENTRY_COLUMNS, entryRow } from '../entries.tsx'
import { List, type Row, startOf, timeCell, valuesOf } from '../list.tsx'
import { Facts, State, Time, Title, Value } from '../parts.tsx'
import { inWords, localTime } from '../text.ts'
import { type Items, useData, usePages } from '../use-data.ts'
import type { Visit } from '../visit.ts'
import { ENTRY_FILTERS } from './log.tsx'

/** A member: the preferences, and one timeline of messages, skips and changes of preferences. */
export function PartyView({ path: [, partyLocator = ''], query, visit }: Visit) {
  const values = valuesOf(ENTRY_FILTERS, query)
  const asked = { ...values, partyLocator }
  const pages = usePages<ListedLogEntry>(['log', 'list'], { ...asked, cursor: query.cursor }, visit)
  const loaded = useData<PreferenceHistory>(['preferences', partyLocator], {})
  const { from, to, ...others } = values
  const isFiltered = Object.values(values).some(Boolean)
  const changes = Object.values(others).some(Boolean) ? [] : (loaded.data?.changes ?? [])
  const isKnown =
    loaded.data?.preferences || loaded.data?.changes.length || pages.data?.items.length || pages.data?.next
  const newest = pages.data?.items[0]
  const isUnknown =
    !isKnown && !isFiltered && loaded.data !== null && !pages.isLoading && pages.problem === null
  return (
    <>
      <Title name={`Member ${partyLocator}`}>
        Member <Value of={partyLocator} mono />
      </Title>
      <State of={loaded} />
      {isUnknown && (
        <p class="notice">
          This member is unknown here: there is no message, no preference and no change under this locator.
          Locators are compared character by character.
        </p>
      )}
      {newest?.failureReason === 'party not found' && (
        <p class="notice">
          Policy administration did not know this member on <Time of={newest.createdAt} />.
        </p>
      )}
      {!isUnknown && loaded.data !== null && <Preferences of={loaded.data} />}
      {!isUnknown && (
        <>
          <List
            at={['parties', partyLocator]}
            label="Timeline"
            filters={ENTRY_FILTERS}
            query={query}
            pages={{ ...pages, data: pages.data && withChanges(pages.data, changes, query) }}
            following={{ before: pages.data?.items.at(-1)?.createdAt }}
            columns={ENTRY_COLUMNS.filter(([name]) => name !== 'Member')}
            rowOf={(item) => ('locator' in item ? entryRow(item, localTime) : changeRow(item))}
            one="entry"
            many="entries"
          />
          {loaded.data?.isMore && <p class="faint">Only the last 100 changes of preferences are shown.</p>}
          <Download key={JSON.stringify(asked)} query={asked} name="member.csv" />
        </>
      )}
    </>
  )
}

/** A page of entries and the changes of the same period, newest first. */
function withChanges(
  { items, next }: Items<ListedLogEntry>,
  changes: readonly PreferenceChange[],
  { from = '', to = '~', before = '~' }: Visit['query'],
): Items<ListedLogEntry | PreferenceChange> {
  const oldest = next === null ? '' : (items.at(-1)?.createdAt ?? '~')
  const shown = changes.filter(
    ({ changedAt: at }) => at >= startOf(from) && at >= oldest && at < startOf(to) && at < before,
  )
  return { items: [...items, ...shown].sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1)), next }
}

function timeOf(item: ListedLogEntry | PreferenceChange): string {
  return 'locator' in item ? item.createdAt : item.changedAt
}

function changeRow(change: PreferenceChange): Row {
  const { changedAt, changedBy, before, after } = change
  const words = `${describe(before, after)}${changedBy === null ? '' : `, by ${changedBy}`}`
  return {
    key: changedAt,
    cells: {
      Time: timeCell(changedAt, localTime),
      Status: 'Preferences',
      Channel: inWords(CHANNEL_NAMES[after.preferredChannel]),
      'Subject or reason': words,
    },
  }
}

function describe(before: StoredPreferences | null, after: StoredPreferences): string {
  const [was, is] = [before?.optedOutEvents ?? [], after.optedOutEvents]
  const out = is.filter((type) => !was.includes(type))
  const back = was.filter((type) => !is.includes(type))
  const prefers = `prefers ${CHANNEL_NAMES[after.preferredChannel]}`
  const said = [
    out.length > 0 && `opted out of ${out.join(', ')}`,
    back.length > 0 && `no longer opted out of ${back.join(', ')}`,
    after.preferredChannel !== before?.preferredChannel && prefers,
    before !== null &&
      (after.email !== before.email || after.phone !== before.phone) &&
      'addresses changed (not used for sending)',
  ].filter((words) => words !== false)
  const [first = 'saved without a change', ...rest] = said
  return [`${first.charAt(0).toUpperCase()}${first.slice(1)}`, ...rest].join('; ')
}

function Preferences({ of: { preferences, unknownEventTypes } }: { of: PreferenceHistory }) {
  return (
    <section class="card" aria-label="Preferences">
      {preferences === null ? (
        <p>No preferences are stored. The rules take that as preferring email and opting out of nothing.</p>
      ) : (
        <Facts
          of={{
            'Preferred channel': inWords(CHANNEL_NAMES[preferences.preferredChannel]),
            'Opted out of': preferences.optedOutEvents.join(', '),
          }}
        />
      )}
      {unknownEventTypes.length > 0 && (
        <p>
          No template, rule or logged event has the type <Value of={unknownEventTypes.join(', ')} />: if it is
          misspelt, this opt-out has no effect.
        </p>
      )}
    </section>
  )
}
