import { ProblemError } from '../problems/problem.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses JSON in UTF-8; throws a problem for anything else. Unlike Fastify's own parser it accepts `__proto__` as a
 * name, which is safe as long as the value is not merged into another object.
 */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch (cause) {
    throw new ProblemError('invalid-request', { detail: 'The body is not valid JSON in UTF-8.', cause })
  }
}
