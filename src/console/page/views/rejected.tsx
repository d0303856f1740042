import type { ShownRejectedMessage } from '../../../service/decide/event/rejected-message.ts'
import { findRedriveRefusal, REJECTIONS } from '../../../service/decide/event/rejection.ts'
import { Ask, useRefusal } from '../ask.tsx'
import { type Cell, Clamped, type Filter, List, type Row, timeCell, windowStart } from '../list.tsx'
import { Copy, Facts, go, Time, Value } from '../parts.tsx'
import { buildHref, type Route } from '../route.ts'
import { counted, decodeBegin, inWords, visible } from '../text.ts'
import { usePages } from '../use-data.ts'

const FILTERS: readonly Filter[] = [
  { name: 'topic', label: 'Topic' },
  { name: 'from', label: 'From', isTime: true },
  { name: 'to', label: 'Before', isTime: true },
  { name: 'code', label: 'Error code', options: Object.keys(REJECTIONS).map((code) => [code, code]) },
  { name: 'settled', label: 'Settled', options: [['true', 'Listed, too']] },
]

/** Rejected messages, newest first. */
export function RejectedView(route: Route) {
  const { topic, code, from, to } = route.query
  const refusal = useRefusal()
  const mayAsk = refusal === null
  const openMessages = { what: 'all open messages of this list', onAsked: () => go(location.hash) }
  const since = from && windowStart(from)
  const wanted = (kind: string) => ({ kind, filter: { topic, code, since, before: to } })
  const { settled, cursor } = route.query
  const asked = { topic, code, from: since, to, open: settled === 'true' ? undefined : 'true', cursor }
  const pages = usePages<ShownRejectedMessage>(['rejected'], asked)
  return (
    <>
      <p class="text-light">
        Messages that are not valid events, that have the event id of another one, or whose row the database
        refused.
        {!mayAsk && ' A click copies a command; add your reason to it, as --because "text".'}
      </p>
      {mayAsk && (
        <p class="hstack">
          <Ask verb="Process all again" {...openMessages} wanted={wanted('redrive')} />
          <Ask
            verb="Dismiss all"
            {...openMessages}
            wanted={wanted('dismiss')}
            warning={DISMISSED}
            isDestructive
          />
        </p>
      )}
      <Facts facts={listRemedies(pages.data?.items ?? [])} />
      <List
        label="Unreadable messages"
        route={route}
        filters={FILTERS}
        pages={pages}
        renderRow={(message) => renderMessage(message, mayAsk)}
        noun={['message', 'messages']}
      />
    </>
  )
}

const DISMISSED =
  'Their members get no message. They can still be processed again, one by one, until they are pruned.'

function renderMessage(rejected: ShownRejectedMessage, mayAsk: boolean): Row {
  const { id, rejectedAt, topic, partition, offset, error, code } = rejected
  return {
    key: id,
    cells: {
      Time: timeCell(rejectedAt),
      ID: id,
      Source: twoLines(topic, `partition ${partition}, offset ${offset}`),
      Error: twoLines(error, code),
      Begins: beginCell(rejected),
      'What next': <NextAction message={rejected} mayAsk={mayAsk} />,
    },
  }
}

function twoLines(text: string, below: string): Cell {
  return {
    title: visible(text),
    show: (
      <>
        <Clamped text={visible(text)} />
        <span class="text-light">{below}</span>
      </>
    ),
  }
}

function beginCell({ begin, byteCount, erasedAt }: ShownRejectedMessage): Cell {
  if (erasedAt !== null) {
    return (
      <>
        erased on <Time iso={erasedAt} />
      </>
    )
  }
  if (begin === null || byteCount === null) return null
  return twoLines(decodeBegin(begin, byteCount), counted(byteCount, 'byte', 'bytes'))
}

const RESULTS: Readonly<Record<string, string>> = {
  logged: 'Processed again: logged',
  duplicate: 'Processed again: logged already',
  rejected: 'Processed again: still unreadable',
  dismissed: 'Dismissed',
}

function isOpen({ redriven }: ShownRejectedMessage): boolean {
  return redriven === null || redriven.result === 'rejected'
}

/** The benefit of processing messages again, once for all messages with the same remedy. */
function listRemedies(messages: readonly ShownRejectedMessage[]): Readonly<Record<string, string>> {
  const groups = Map.groupBy(messages.filter(isOpen), describeRemedy)
  return Object.fromEntries(
    [...groups].map(([remedy, messages]) => {
      const codes = new Set(messages.map(({ code, erasedAt }) => (erasedAt === null ? code : 'erased')))
      return [[...codes].join(', '), remedy]
    }),
  )
}

function describeRemedy({ code, erasedAt }: ShownRejectedMessage): string {
  if (erasedAt !== null) return 'Processing them again does not help: they were erased.'
  if (findRedriveRefusal(code, false) !== null)
    return 'Processing them again does not help: their producer must publish them again.'
  if (code === 'conflict')
    return 'Another message has their event id and its only row, so their members are not told. Process them again once rules/envelope.json reads an id of their own; otherwise their producer must publish them again with one.'
  if (code === 'refused-by-database') return 'Process them again once the database takes their rows.'
  return 'Processing them again helps only once rules/envelope.json reads them; otherwise their producer must publish them again.'
}

/** The result of the last redrive, or the available requests. */
function NextAction({ message, mayAsk }: { message: ShownRejectedMessage; mayAsk: boolean }) {
  const { id, code, erasedAt, redriven } = message
  const isErased = erasedAt !== null
  const isRedrivable = findRedriveRefusal(code, isErased) === null
  const thisMessage = { what: `message ${id}`, onAsked: () => go(location.hash) }
  const commands = [
    ...(isErased ? [] : [`rejected show ${id}`]),
    ...(isRedrivable ? [`rejected redrive ${id}`] : []),
    `rejected dismiss ${id}`,
  ]
  const result = redriven && (RESULTS[redriven.result] ?? inWords(redriven.result))
  return (
    <>
      {redriven !== null && (
        <p>
          {redriven.locator === null ? result : <a href={buildHref(['log', redriven.locator])}>{result}</a>},{' '}
          <Time iso={redriven.at} /> by <Value text={redriven.by} />
        </p>
      )}
      {isOpen(message) && mayAsk && (
        <p class="hstack">
          {isRedrivable && (
            <Ask verb="Process again" {...thisMessage} wanted={{ kind: 'redrive', ids: [id] }} />
          )}
          <Ask
            verb="Dismiss"
            {...thisMessage}
            wanted={{ kind: 'dismiss', ids: [id] }}
            warning={DISMISSED}
            isDestructive
          />
        </p>
      )}
      {isOpen(message) &&
        !mayAsk &&
        commands.map((command) => <Copy key={command} text={`src/main.ts ${command}`} label={command} />)}
    </>
  )
}
