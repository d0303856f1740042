import type { PreferenceHistory, StoredPreferences } from '../../core/party/preferences.ts'
import { Field, filledIn, State, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { go, type Visit } from '../session.ts'
import { useData } from '../use-data.ts'

/** What a party prefers, since when, and by whom it was changed. */
export function PartyView({ path: [, partyLocator], visit }: Visit) {
  const search = (event: SubmitEvent) => {
    const { party = '' } = filledIn(event)
    if (party !== '') go(hrefOf(['parties', party]))
  }
  return (
    <>
      {partyLocator === undefined ? (
        <Title name="Parties" />
      ) : (
        <Title name={`Party ${partyLocator}`}>
          Party <Value of={partyLocator} mono />
        </Title>
      )}
      <search>
        <form class="filters" onSubmit={search}>
          <Field label="Party" name="party" value={partyLocator} />
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
              <p>It has none: it is told of everything by EMAIL.</p>
            ) : (
              <Preferences of={data.preferences} />
            )}
            <p>
              <a href={hrefOf(['log'], { partyLocator })}>All entries of this party</a>
            </p>
          </section>
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            {data.changes.length === 0 ? (
              <p class="faint">No change is on record.</p>
            ) : (
              <Table
                label="Changes of preferences"
                head={['Time', 'By', 'Channel', 'Opted out of', 'Email', 'Phone']}
              >
                {data.changes.map(({ changedAt, changedBy, before, after }) => (
                  <tr key={changedAt}>
                    <td>
                      <Time of={changedAt} />
                    </td>
                    <td>
                      <Value of={changedBy} />
                    </td>
                    <Change before={before?.preferredChannel} after={after.preferredChannel} />
                    <Change before={before && listed(before)} after={listed(after)} />
                    <Change before={before?.email} after={after.email} />
                    <Change before={before?.phone} after={after.phone} />
                  </tr>
                ))}
              </Table>
            )}
            {data.isMore && <p class="faint">There are older changes, which are not shown.</p>}
          </section>
        </>
      )}
    </>
  )
}

function Preferences({ of }: { of: StoredPreferences }) {
  return (
    <dl class="facts">
      <div>
        <dt>Preferred channel</dt>
        <dd>{of.preferredChannel}</dd>
      </div>
      <div>
        <dt>Opted out of</dt>
        <dd>
          <Value of={listed(of)} />
        </dd>
      </div>
      <div>
        <dt>Email</dt>
        <dd>
          <Value of={of.email} />
        </dd>
      </div>
      <div>
        <dt>Phone</dt>
        <dd>
          <Value of={of.phone} />
        </dd>
      </div>
    </dl>
  )
}

/** A value after a change, and what it was before where that is something else. */
function Change({ before, after }: { before: string | null | undefined; after: string | null }) {
  const was = before ?? null
  return (
    <td>
      <Value of={after} />
      {was !== null && was !== after && (
        <span class="was">
          {' '}
          was <Value of={was} />
        </span>
      )}
    </td>
  )
}

function listed({ optedOutEvents }: StoredPreferences): string {
  return optedOutEvents.join(', ')
}
