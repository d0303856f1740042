import { nameOfChannel } from '../../../service/decide/party/channel.ts'
import { describeOptOut, describePreferenceChange } from '../../../service/decide/party/preference-changes.ts'
import type { PreferenceChange, PreferenceHistory } from '../../../service/decide/party/preferences.ts'
import type { ListedLogEntry } from '../../../service/model/log/log-entry.ts'
import type { Page } from '../../../service/model/log/log-page.ts'
import { countEntries, Download, type Remark } from '../download.tsx'
import { List, pickValues, type Row, SearchFor, timeCell, windowStart } from '../list.tsx'
import { Facts, ServiceText, State, Title, Value } from '../parts.tsx'
import type { Query, Route } from '../route.ts'
import { inWords, localTime } from '../text.ts'
import { useData, usePages } from '../use-data.ts'
import { MayLack } from '../waiting.tsx'
import { ENTRY_FILTERS, entryRow } from './log.tsx'

/** A member: the preferences, and one timeline of messages, skips and changes of preferences. */
export function PartyView(route: Route) {
  const [, partyLocator = ''] = route.path
  const values = pickValues(ENTRY_FILTERS, route.query)
  const asked = { ...values, partyLocator }
  const pages = usePages<ListedLogEntry>(['log', 'list'], { ...asked, cursor: route.query.cursor })
  const loaded = useData<PreferenceHistory>(['preferences', partyLocator])
  const { from, to, ...untimed } = values
  const isFiltered = Object.values(values).some(Boolean)
  const changes = Object.values(untimed).some(Boolean) ? [] : (loaded.data?.changes ?? [])
  const isKnown =
    loaded.data?.preferences ||
    loaded.data?.changes.length ||
    pages.data?.items.length ||
    pages.data?.nextCursor
  const isUnknown = !isKnown && !isFiltered && loaded.data !== null && pages.data !== null
  return (
    <>
      <Title name={`Member ${partyLocator}`}>
        Member <Value text={partyLocator} mono />
      </Title>
      <State loaded={loaded} />
      <MayLack what="member" />
      {isUnknown ? (
        <>
          <p class="notice">
            This member is unknown here: there is no message, no preference and no change under this locator.
          </p>
          <SearchFor name={partyLocator} />
        </>
      ) : (
        <>
          {loaded.data !== null && <Preferences history={loaded.data} />}
          <List
            label="Timeline"
            route={route}
            filters={ENTRY_FILTERS}
            pages={{ ...pages, data: pages.data && withChanges(pages.data, changes, route.query) }}
            following={{ before: pages.data?.items.at(-1)?.createdAt }}
            renderRow={renderItem}
            noun={['entry', 'entries']}
            count={countItems}
          />
          {loaded.data?.isMore && <p>Only the last 100 changes of preferences are shown.</p>}
          <Download
            key={JSON.stringify(asked)}
            query={asked}
            name="member.csv"
            remarks={[...listOptOuts(loaded.data), ...changesWithin(changes, values).map(toRemark)].map(
              (remark) => ({ ...remark, partyLocator }),
            )}
          />
        </>
      )}
    </>
  )
}

/** A page of entries and the changes of the same period, newest first. */
function withChanges(
  { items, nextCursor }: Page<ListedLogEntry>,
  changes: readonly PreferenceChange[],
  query: Query,
): Page<ListedLogEntry | PreferenceChange> {
  const oldest = nextCursor === null ? '' : (items.at(-1)?.createdAt ?? '~')
  const shown = changesWithin(changes, query).filter(({ changedAt }) => changedAt >= oldest)
  const newestFirst = (a: string, b: string) => (a < b ? 1 : a > b ? -1 : 0)
  // Entries of one transaction have the same time, and keep the order of the list.
  return { items: [...items, ...shown].sort((a, b) => newestFirst(readTime(a), readTime(b))), nextCursor }
}

function changesWithin(
  changes: readonly PreferenceChange[],
  { from = '', to = '~', before = '~' }: Query,
): readonly PreferenceChange[] {
  const [start, end] = [windowStart(from), windowStart(to)]
  return changes.filter(({ changedAt: at }) => at >= start && at < end && at < before)
}

function readTime(item: ListedLogEntry | PreferenceChange): string {
  return 'locator' in item ? item.createdAt : item.changedAt
}

function countItems(items: readonly (ListedLogEntry | PreferenceChange)[]): string {
  const entryCount = items.filter((item) => 'locator' in item).length
  return countEntries(entryCount, items.length - entryCount)
}

function renderItem(item: ListedLogEntry | PreferenceChange): Row {
  if (!('locator' in item)) return changeRow(item)
  const { cells, ...row } = entryRow(item, localTime)
  const { Member: _, ...rest } = cells
  return { ...row, cells: rest }
}

function changeRow(change: PreferenceChange): Row {
  const { status, eventType, channel, because } = toRemark(change)
  return {
    key: change.changedAt,
    cells: {
      Time: timeCell(change.changedAt, localTime),
      Status: status,
      'Event type': eventType,
      About: null,
      Channel: channel,
      'Subject or reason': because,
    },
  }
}

/** For the file: what the member is opted out of now. */
function listOptOuts(history: PreferenceHistory | null): readonly Omit<Remark, 'partyLocator'>[] {
  const { preferences = null, changes = [] } = history ?? {}
  return (preferences?.optedOutEvents ?? []).map((eventType) => ({
    createdAt: null,
    status: 'Opted out now',
    eventType,
    channel: null,
    because: describeOptOut(changes, eventType),
  }))
}

function toRemark(change: PreferenceChange): Omit<Remark, 'partyLocator'> {
  return {
    createdAt: change.changedAt,
    status: 'Preferences',
    eventType: null,
    channel: inWords(nameOfChannel(change.after.preferredChannel)),
    because: describePreferenceChange(change),
  }
}

function Preferences({ history }: { history: PreferenceHistory }) {
  const { preferences, unknownEventTypes, changes } = history
  return (
    <section class="card" aria-label="Preferences">
      {preferences === null ? (
        <p>No preferences are stored. The rules take that as preferring email and opting out of nothing.</p>
      ) : (
        <Facts
          facts={{
            'Preferred channel': inWords(nameOfChannel(preferences.preferredChannel)),
            'Opted out of':
              preferences.optedOutEvents.length === 0 ? (
                'nothing'
              ) : (
                <ul class="unstyled">
                  {preferences.optedOutEvents.map((eventType) => (
                    <li key={eventType}>
                      <Value text={eventType} /> <ServiceText sentence={describeOptOut(changes, eventType)} />
                    </li>
                  ))}
                </ul>
              ),
          }}
        />
      )}
      {unknownEventTypes.length > 0 && (
        <p>
          No template, rule or logged event has the type <Value text={unknownEventTypes.join(', ')} />: if it
          is misspelt, this opt-out has no effect.
        </p>
      )}
    </section>
  )
}
