import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomState,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import type { SignIn } from '../../service/model/sign-in.ts'
import { token } from './api.ts'

/** State of a sign-in, kept in the tab until the provider leads back: verifier, state, and the view to return to. */
const PENDING = 'notifications-sign-in'

/** Time after which the provider counts as silent. */
const ANSWER_MS = 10_000

/** The address that the provider leads back to; the view is in its fragment. */
const redirectUri = () => `${location.origin}${location.pathname}`

async function discover({ issuer }: SignIn) {
  const url = new URL(issuer)
  const signal = () => AbortSignal.timeout(ANSWER_MS)
  const options = { [allowInsecureRequests]: url.protocol === 'http:', signal }
  return { server: await processDiscoveryResponse(url, await discoveryRequest(url, options)), options }
}

/** Goes to the identity provider, by the authorization code flow with PKCE. Rejects if the provider does not answer. */
export async function signIn(settings: SignIn): Promise<void> {
  const { server } = await discover(settings)
  const [verifier, state] = [generateRandomCodeVerifier(), generateRandomState()]
  sessionStorage.setItem(PENDING, JSON.stringify({ verifier, state, hash: location.hash }))
  const url = new URL(server.authorization_endpoint ?? settings.issuer)
  const parameters = {
    client_id: settings.clientId,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: settings.scope,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  location.assign(url)
}

/** Exchanges the provider's code for a token, if this tab started the sign-in. Rejects if the provider refuses. */
export async function completeSignIn(settings: SignIn): Promise<void> {
  const pending = sessionStorage.getItem(PENDING)
  const answered = new URL(location.href)
  if (pending === null) return
  sessionStorage.removeItem(PENDING)
  const { verifier, state, hash } = JSON.parse(pending)
  // The code must neither stay in the history nor be sent again by a reload.
  history.replaceState(history.state, '', `${location.pathname}${hash}`)
  const { server, options } = await discover(settings)
  const client = { client_id: settings.clientId }
  const parameters = validateAuthResponse(server, client, answered, state)
  const response = await authorizationCodeGrantRequest(
    server,
    client,
    None(),
    parameters,
    redirectUri(),
    verifier,
    options,
  )
  token.set((await processAuthorizationCodeResponse(server, client, response)).access_token)
}
