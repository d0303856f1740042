import type { PreferenceHistory, StoredPreferences } from '../../core/party/preferences.ts'
import { Fact, Field, filledIn, State, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { useData } from '../use-data.ts'
import { go, type Visit } from '../visit.ts'

/** The preferences of a member, with the history of changes. */
export function PartyView({ path: [, partyLocator], visit }: Visit) {
  const search = (event: SubmitEvent) => {
    const { party = '' } = filledIn(event)
    if (party !== '') go(hrefOf(['parties', party]))
  }
  return (
    <>
      {partyLocator === undefined ? (
        <Title name="Members" />
      ) : (
        <Title name={`Member ${partyLocator}`}>
          Member <Value of={partyLocator} mono />
        </Title>
      )}
      <search>
        <form class="filters" onSubmit={search}>
          <Field label="Party locator" name="party" value={partyLocator} />
          <div class="actions">
            <button type="submit" class="primary">
              Look up
            </button>
          </div>
        </form>
      </search>
      {partyLocator !== undefined && <Party key={visit} partyLocator={partyLocator} />}
    </>
  )
}

function Party({ partyLocator }: { partyLocator: string }) {
  const loaded = useData<PreferenceHistory>(['preferences', partyLocator], {})
  const { data } = loaded
  return (
    <>
      <State of={loaded} />
      {data !== null && (
        <>
          <section class="card" aria-labelledby="now">
            <h2 id="now">Preferences</h2>
            {data.preferences === null ? (
              <p>None set: this member is told of every event by EMAIL.</p>
            ) : (
              <Preferences of={data.preferences} />
            )}
            <p>
              <a href={hrefOf(['log'], { partyLocator })}>All entries for this member</a>
            </p>
          </section>
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            {data.changes.length === 0 ? (
              <p class="faint">No changes recorded.</p>
            ) : (
              <Table
                label="Changes to preferences"
                columns={['Time', 'Changed by', 'Channel', 'Opted out of', 'Email', 'Phone']}
                rows={data.changes.map(({ changedAt, changedBy, before, after }) => ({
                  key: changedAt,
                  cells: [
                    <Time of={changedAt} />,
                    <Value of={changedBy} />,
                    <Change before={before?.preferredChannel} after={after.preferredChannel} />,
                    <Change before={before && listed(before)} after={listed(after)} />,
                    <Change before={before?.email} after={after.email} />,
                    <Change before={before?.phone} after={after.phone} />,
                  ],
                }))}
              />
            )}
            {data.isMore && <p class="faint">Older changes are not shown.</p>}
          </section>
        </>
      )}
    </>
  )
}

function Preferences({ of }: { of: StoredPreferences }) {
  return (
    <dl class="facts">
      <Fact name="Preferred channel">{of.preferredChannel}</Fact>
      <Fact name="Opted out of">
        <Value of={listed(of)} />
      </Fact>
      <Fact name="Email">
        <Value of={of.email} />
      </Fact>
      <Fact name="Phone">
        <Value of={of.phone} />
      </Fact>
    </dl>
  )
}

/** A value after a change, and the value before it if that differs. */
function Change({ before, after }: { before: string | null | undefined; after: string | null }) {
  const was = before ?? null
  return (
    <>
      <Value of={after} />
      {was !== null && was !== after && (
        <span class="was">
          {' '}
          was <Value of={was} />
        </span>
      )}
    </>
  )
}

function listed({ optedOutEvents }: StoredPreferences): string {
  return optedOutEvents.join(', ')
}
