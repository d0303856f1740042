import { useContext, useState } from 'preact/hooks'
import { describeWanted, groupUnchanged } from '../../../operations/requests/describe-request.ts'
import type { Page } from '../../../service/model/log/log-page.ts'
import type { StoredRequest } from '../../../service/model/request/schemas.ts'
import { post, RequestError } from '../api.ts'
import { followInterval, RequestState, Resume, Unchanged, useRefusal } from '../ask.tsx'
import { List, type Row, timeCell } from '../list.tsx'
import { Button, Card, Facts, Problem, State, Time } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { localTime, sentence } from '../text.ts'
import { useData, Visit } from '../use-data.ts'

const EVERY_MS = 5_000
const listInterval = ({ items }: Page<StoredRequest>) =>
  items.some(({ endedAt }) => endedAt === null) ? EVERY_MS : null

/** All requests, or the one that the path names. */
export function RequestsView(route: Route) {
  return route.path.length > 1 ? <OneRequest {...route} /> : <AllRequests {...route} />
}

/** Requests to the service, newest first. */
function AllRequests(route: Route) {
  const pages = useData<Page<StoredRequest>>(['requests'], { cursor: route.query.cursor }, listInterval)
  return (
    <>
      <p class="text-light">What people asked the service to do: who, why, and with which results.</p>
      <List
        label="Requests"
        route={route}
        filters={[]}
        pages={pages}
        renderRow={renderRequest}
        noun={['request', 'requests']}
      />
    </>
  )
}

function renderRequest(request: StoredRequest): Row {
  const { id, requestedAt, by, because } = request
  return {
    key: id,
    href: buildHref(['requests', id]),
    cells: {
      Time: timeCell(requestedAt),
      What: describeWanted(request, localTime),
      By: by,
      Reason: because,
      State: <RequestState request={request} />,
    },
  }
}

/** One request with its results; an open one can be cancelled. */
function OneRequest({ path: [, id = ''] }: Route) {
  const loaded = useData<StoredRequest>(['requests', id], {}, followInterval)
  const { data } = loaded
  return (
    <>
      <State loaded={loaded} />
      {data !== null && <RequestDetails request={data} />}
    </>
  )
}

function RequestDetails({ request }: { request: StoredRequest }) {
  const { id, kind, by, because, requestedAt, endedAt, counts, unchanged } = request
  const more = groupUnchanged(unchanged).reduce((left, { count }) => left - count, counts.unchanged ?? 0)
  return (
    <>
      <p role="status">
        <strong>
          <RequestState request={request} />
        </strong>
      </p>
      <Facts
        facts={{
          What: describeWanted(request, localTime),
          'Asked for by': by,
          Reason: because,
          'Asked for': <Time iso={requestedAt} />,
          Ended: endedAt === null ? null : <Time iso={endedAt} />,
        }}
      />
      {(kind === 'retry' || kind === 'redrive') && (
        <p>
          <a href={buildHref(['log'], { request: id })}>Log entries of this request</a>
        </p>
      )}
      {unchanged.length > 0 && (
        <Card id="unchanged" title="Left unchanged">
          <Unchanged request={request} />
          {more > 0 && <p>And {more} more.</p>}
        </Card>
      )}
      {endedAt === null &&
        (kind === 'hold' ? (
          <Resume
            hold={id}
            what={describeWanted(request, localTime)}
            about={`Held by ${by}: ${sentence(because)}`}
          />
        ) : (
          <Cancel id={id} />
        ))}
    </>
  )
}

function Cancel({ id }: { id: string }) {
  const { refused } = useContext(Visit)
  const [problem, setProblem] = useState<string | null>(null)
  if (useRefusal() !== null) return null
  const cancel = () =>
    post(['requests', id, 'cancel'], {}, new AbortController().signal).catch((error: unknown) => {
      if (!(error instanceof RequestError)) throw error
      if (error.status === 401) refused(error)
      setProblem(error.message)
    })
  return (
    <>
      <Problem problem={problem} />
      <Button onClick={cancel}>Cancel this request</Button>
    </>
  )
}
