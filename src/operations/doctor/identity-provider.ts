import { EnvHttpProxyAgent } from 'undici'
import { readText } from '../../service/app/authored-files.ts'
import { isLoopback } from '../../service/config/loopback.ts'
import { loadKeys } from '../../service/http/auth/load-keys.ts'
import type { Refusal } from '../../service/http/auth/token-claims.ts'
import { createLog } from '../../service/telemetry/log.ts'
import { counted } from '../../service/text/count.ts'
import {
  type Check,
  certificateRemedies,
  PROXY_REMEDIES,
  Problem,
  unreachable,
  type Warning,
} from './remedies.ts'
import { tryToken } from './try-token.ts'

const REACH_PROVIDER = 'check the host and port of IDP_JWKS_URI, and that this machine can reach them'

const OPEN: Warning = {
  warning:
    'HOST lets other machines in, and all routes are open: whoever reaches it reads the whole log, and changes preferences',
  remedy: 'set IDP_JWKS_URI to require tokens, or let only a gateway that checks them reach the service',
}

export const identityProviderCheck: Check = {
  name: 'identity provider',
  prefix: 'IDP_',
  run: async ({ tokens, http }) => {
    if (tokens === null) return isLoopback(http.host) ? null : OPEN
    const { keys, foundCount } = await loadKeys(tokens.keySetUrl, new EnvHttpProxyAgent())
    if (keys.length === 0)
      throw new Problem(
        `none of ${counted(foundCount, 'key')} is fit for signatures`,
        'publish a key for signatures there: see the requirements in src/service/http/README.md',
      )
    return `${keys.length} of ${counted(foundCount, 'key')} fit for signatures`
  },
  remedies: {
    ...certificateRemedies(
      'renew the certificate of the identity provider',
      'name the host in IDP_JWKS_URI as its certificate does',
      'set NODE_EXTRA_CA_CERTS to the authority of the identity provider',
    ),
    ...unreachable(REACH_PROVIDER),
    ...PROXY_REMEDIES,
    TimeoutError: REACH_PROVIDER,
    other: 'check IDP_JWKS_URI: it must answer 200 with a JSON Web Key Set, without redirects',
  },
}

export const tokenCheck: Check = {
  name: 'token',
  prefix: 'IDP_',
  after: ['identity provider'],
  run: async ({ tokens }, { token: file }) => {
    if (file === undefined) return null
    if (tokens === null)
      return { warning: 'no token is checked: all routes are open', remedy: 'set IDP_JWKS_URI' }
    const text = (await readText(file)).trim()
    const { token, admin, operator, party } = await tryToken(text, tokens, createLog('silent'))
    if (token !== null)
      throw new Problem(
        describeRefusal(token),
        token.disagreements.length > 0
          ? 'correct the named settings, or have another token issued'
          : 'name a file that contains the token alone, without "Bearer", or have another token issued',
      )
    const asks =
      operator === null
        ? 'with the right of operators'
        : `without the right of operators: ${describeRefusal(operator)}`
    const reads =
      tokens.adminScope === null
        ? 'and may read everything, since IDP_ADMIN_SCOPE is not set'
        : `with${admin === null ? '' : 'out'} the right of administrators`
    const detail = `accepted, ${reads}${admin === null ? '' : `: ${describeRefusal(party ?? admin)}`}\n${asks}`
    const isElsewhere = (refusal: Refusal | null) =>
      refusal?.disagreements.some(({ variable }) => variable === 'IDP_ADMIN_CLAIM')
    if (isElsewhere(operator) && admin === null)
      throw new Problem(detail, 'have tokens issued with both rights in one claim, that of IDP_ADMIN_CLAIM')
    if (isElsewhere(operator) || isElsewhere(admin))
      throw new Problem(detail, 'set IDP_ADMIN_CLAIM to the place where the token has it')
    if (admin === null) return detail
    if (party === null)
      return {
        warning: detail,
        remedy: "grant the right, or correct the setting, unless the token is a member's, which it can be",
      }
    const correct = 'grant the right of administrators, or correct its setting'
    return {
      warning: detail,
      remedy: `if the token is a member's, set IDP_PARTY_CLAIM to the claim that names the party, or have the token issued with it; else ${correct}`,
    }
  },
  remedies: { other: 'name a file that contains the token alone' },
}

function describeRefusal({ reason, disagreements }: Refusal): string {
  const lines = disagreements.map(
    ({ claim, found, wanted, variable }) => `\n${claim}: found ${found}, wanted ${wanted} (${variable})`,
  )
  return `${reason}${lines.join('')}`
}
