/**
 * How a request travels. `single`: alone on a kept connection while it is under way. `alone`: the first and last request of
 * its connection. `apart`: the same, for a party that hung lately. `streams`: over HTTP/2. `shared`: one behind the other on a
 * connection.
 */
export type Lane = 'single' | 'alone' | 'apart' | 'streams' | 'shared'

/** Whether nothing else can be answered on the connection. */
export function isAlone(lane: Lane): boolean {
  return lane === 'alone' || lane === 'apart'
}
