import { IncomingMessage, type ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Maximum number of requests on a connection that wait for their answers. */
const UNANSWERED_COUNT_MAX = 16

const unanswered = new WeakMap<Socket, Set<IncomingMessage>>()
/** The event of a connection after each answer. */
const ANSWERED = 'notifications-answered'

function isFull(socket: Socket): boolean {
  return (unanswered.get(socket)?.size ?? 0) >= UNANSWERED_COUNT_MAX
}

/** Calls back once per connection, as soon as all complete requests are answered. */
export function whenAnswered(socket: Socket, done: () => void): void {
  const isWaiting = () => [...(unanswered.get(socket) ?? [])].some(({ complete }) => complete)
  if (!isWaiting()) done()
  else if (socket.listenerCount(ANSWERED) === 0)
    socket.on(ANSWERED, () => {
      if (isWaiting()) return
      socket.removeAllListeners(ANSWERED)
      // Node must first detach the answer from the connection.
      process.nextTick(done)
    })
}

/**
 * Node parses all requests of a 64 kB chunk, some 2,400, before it answers one; only an upgrade stops it. So the first request
 * beyond the limit poses as an upgrade, which `closeOnceAnswered` handles.
 */
class BoundedRequest extends IncomingMessage {
  constructor(socket: Socket) {
    super(socket)
    // Node assigns `false` after this.
    if (isFull(socket)) Object.defineProperty(this, 'upgrade', { get: () => true, set: () => {} })
  }
}

class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  constructor(...args: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...args)
    const [request] = args
    const { socket } = request
    if (upgrading.has(request)) this.setHeader('connection', 'close')
    const waiting = unanswered.get(socket) ?? new Set()
    unanswered.set(socket, waiting.add(request))
    this.once('finish', () => {
      waiting.delete(request)
      socket.emit(ANSWERED)
    })
  }
}

/** Requests for an upgrade, which is ignored. Node drops the bytes after one in its chunk: the client must send them again. */
const upgrading = new WeakSet<IncomingMessage>()

/** Ends the parsing of a connection with too many unanswered requests. */
export const BOUNDED_PIPELINE = {
  IncomingMessage: BoundedRequest,
  ServerResponse: CountedResponse,
  shouldUpgradeCallback: (request) => {
    if (isFull(request.socket)) return true
    upgrading.add(request)
    return false
  },
} satisfies ServerOptions<typeof BoundedRequest, typeof CountedResponse>

/** Time for the client to take the answers. */
const CLOSE_MS_MAX = 2_000

/** Closes a connection once the requests before the one too many are answered. For the event `upgrade` of a server. */
export function closeOnceAnswered(_request: IncomingMessage, socket: Socket): void {
  // Node has removed its own listeners.
  socket.on('error', () => {})
  // Unread bytes would reset the connection and lose its answers.
  socket.resume()
  whenAnswered(socket, () => {
    socket.end()
    const late = setTimeout(() => socket.destroy(), CLOSE_MS_MAX)
    socket.once('close', () => clearTimeout(late))
  })
}
