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

/** Calls back, once for a connection, when all requests that arrived whole are answered, or at once. */
export function whenAnswered(socket: Socket, done: () => void): void {
  const isWaiting = () => [...(unanswered.get(socket) ?? [])].some(({ complete }) => complete)
  if (!isWaiting()) done()
  else if (socket.listenerCount(ANSWERED) === 0)
    socket.on(ANSWERED, () => {
      if (isWaiting()) return
      socket.removeAllListeners(ANSWERED)
      // Node has to take the answer off the connection.
      process.nextTick(done)
    })
}

/**
 * Node parses all requests of a chunk of 64 kB, some 2,400, before it answers one; only an upgrade ends that. So one request too
 * many poses as an upgrade, which nobody handles: Node closes the connection.
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
    const waiting = unanswered.get(socket) ?? new Set()
    unanswered.set(socket, waiting.add(request))
    this.once('finish', () => {
      waiting.delete(request)
      socket.emit(ANSWERED)
    })
  }
}

/** Closes a connection with too many unanswered requests. */
export const BOUNDED_PIPELINE = {
  IncomingMessage: BoundedRequest,
  ServerResponse: CountedResponse,
  shouldUpgradeCallback: ({ socket }) => isFull(socket),
} satisfies ServerOptions<typeof BoundedRequest, typeof CountedResponse>
