/** How administrators sign in: a public client of the identity provider. */
export interface SignIn {
  readonly issuer: string
  readonly clientId: string
  /** Scopes to request, separated by spaces. */
  readonly scope: string
}
