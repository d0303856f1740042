// Types of the untyped modules of kafkajs 2.2.4 that we use, and of the untyped codec.

declare module 'kafkajs/src/network/requestQueue/index.js' {
  export default class RequestQueue {
    readonly pending: readonly unknown[]
    scheduleCheckPendingRequests(): void
  }
}

declare module 'kafkajs/src/network/connectionPool.js' {
  import type { Socket } from 'node:net'
  import type { ISocketFactory, KafkaConfig, Logger } from 'kafkajs'

  interface Connection {
    readonly socket?: Socket
    isConnected(): boolean
    isAuthenticated(): boolean
    disconnect(): Promise<unknown>
    rejectRequests(error: Error): void
  }

  export interface ProtocolRequest<Answer> {
    readonly request: {
      readonly apiVersion: number
      readonly apiKey: number
      readonly apiName: string
      encode(): Promise<unknown>
    }
    readonly response: {
      decode(payload: Buffer): Promise<unknown>
      parse(decoded: never): Promise<Answer>
    }
  }

  /** The connections to one broker: the first for all requests but fetches, the second for fetches. */
  export default class ConnectionPool {
    readonly pool: readonly [Connection, Connection]
    constructor(options: {
      readonly host: string
      readonly port: number
      readonly ssl?: KafkaConfig['ssl']
      readonly sasl?: KafkaConfig['sasl']
      readonly clientId: string
      readonly socketFactory: ISocketFactory
      /** In ms. */
      readonly connectionTimeout: number
      readonly enforceRequestTimeout: boolean
      readonly logger: Logger
    })
    send<Answer>(request: ProtocolRequest<Answer>): Promise<Answer>
  }
}

declare module 'kafkajs/src/network/socketFactory.js' {
  import type { ISocketFactory } from 'kafkajs'

  export default function createSocketFactory(): ISocketFactory
}

declare module 'kafkajs/src/loggers/index.js' {
  import type { Logger, logCreator, logLevel } from 'kafkajs'

  const loggers: { createLogger(options: { level: logLevel; logCreator: logCreator }): Logger }
  export default loggers
}

declare module 'kafkajs/src/broker/index.js' {
  import type { Logger, Broker as PublicBroker } from 'kafkajs'
  import type ConnectionPool from 'kafkajs/src/network/connectionPool.js'
  import type { ProtocolRequest } from 'kafkajs/src/network/connectionPool.js'
  import type { Definition } from 'kafkajs/src/protocol/requests/index.js'

  interface Broker extends PublicBroker {}
  class Broker {
    readonly connectionPool: ConnectionPool
    /** The versions that the broker supports, by the number of the request; null before it is connected. */
    readonly versions: Readonly<Record<number, { readonly maxVersion: number }>> | null
    constructor(options: { readonly connectionPool: ConnectionPool; readonly logger: Logger })
    /** The newest version of a request that both sides know. */
    lookupRequest<T>(apiKey: number, definition: Definition<T>): (options: object) => ProtocolRequest<T>
    findGroupCoordinator(request: {
      readonly groupId: string
      readonly coordinatorType: number
    }): Promise<{ coordinator: { nodeId: number; host: string; port: number } }>
    syncGroup(request: {
      readonly groupId: string
      readonly generationId: number
      readonly memberId: string
      readonly groupAssignment: readonly { readonly memberId: string; readonly memberAssignment: Buffer }[]
    }): Promise<{ memberAssignment: Buffer }>
    heartbeat(request: {
      readonly groupId: string
      readonly groupGenerationId: number
      readonly memberId: string
    }): Promise<unknown>
    leaveGroup(request: { readonly groupId: string; readonly memberId: string }): Promise<unknown>
    /** With the text that is kept beside each offset. */
    offsetCommit(request: {
      readonly groupId: string
      readonly groupGenerationId: number
      readonly memberId: string
      readonly topics: {
        topic: string
        partitions: { partition: number; offset: string; metadata: string }[]
      }[]
    }): Promise<unknown>
    offsetFetch(request: {
      readonly groupId: string
      readonly topics: { topic: string; partitions: { partition: number }[] }[]
    }): Promise<{
      responses: {
        topic: string
        partitions: { partition: number; offset: string; metadata: string | null }[]
      }[]
    }>
    listOffsets(request: {
      readonly isolationLevel: number
      readonly topics: readonly {
        readonly topic: string
        readonly partitions: readonly { readonly partition: number; readonly timestamp: string }[]
      }[]
    }): Promise<{ responses: { topic: string; partitions: { partition: number; offset: string }[] }[] }>
  }
  export default Broker
}

declare module 'kafkajs/src/protocol/recordBatch/crc32C/index.js' {
  export default function crc32c(bytes: Uint8Array): number
}

declare module 'kafkajs/src/protocol/decoder.js' {
  export default class Decoder {
    constructor(bytes: Buffer)
    readInt16(): number
    readInt32(): number
    readInt64(): bigint
    readString(): string
    /** Bytes with a length before them; null if the length is -1. */
    readBytes(byteLength?: number): Buffer | null
    readArray<T>(read: (decoder: Decoder) => T): T[]
    readInt8(): number
    readUVarIntString(): string | null
    readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null
    readTaggedFields(): unknown
  }
}

declare module 'kafkajs/src/protocol/encoder.js' {
  export default class Encoder {
    readonly buffer: Buffer
    size(): number
    writeInt16(value: number): this
    writeInt32(value: number): this
    writeString(value: string): this
    writeEncoder(value: Encoder): this
    writeBoolean(value: boolean): this
    writeUVarInt(value: number): this
    writeUVarIntString(value: string | null): this
  }
}

declare module 'kafkajs/src/protocol/error.js' {
  const errors: {
    createErrorFromCode(code: number): Error & { readonly type: string }
    readonly errorCodes: readonly { readonly type: string; readonly code: number; readonly message: string }[]
  }
  export default errors
}

declare module 'kafkajs/src/protocol/requests/apiKeys.js' {
  const apiKeys: { readonly Fetch: number; readonly JoinGroup: number; readonly Metadata: number }
  export default apiKeys
}

declare module 'kafkajs/src/protocol/requests/index.js' {
  import type { GroupMember } from 'kafkajs'
  import type { ProtocolRequest } from 'kafkajs/src/network/connectionPool.js'

  export interface JoinedGroup {
    readonly generationId: number
    readonly leaderId: string
    readonly memberId: string
    readonly members: GroupMember[]
  }
  /** The versions of a request whose answer is parsed as T. */
  export interface Definition<T> {
    readonly protocol: (options: object) => (options: object) => ProtocolRequest<T>
  }
  const requests: {
    readonly requests: {
      readonly Fetch: Definition<unknown>
      readonly JoinGroup: Definition<JoinedGroup>
      readonly Metadata: Definition<unknown>
    }
  }
  export default requests
}

declare module 'kafkajs/src/broker/saslAuthenticator/*' {
  import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs'

  export default function provider(login: {
    readonly username: string
    readonly password: string
  }): (args: AuthenticationProviderArgs) => Authenticator
}

declare module 'kafkajs/src/protocol/sasl/oauthBearer/index.js' {
  import type { SaslAuthenticationRequest } from 'kafkajs'

  interface Token {
    readonly value: string
    readonly extensions: Readonly<Record<string, string>>
  }
  const sasl: { request(options: object, token: Token): Promise<SaslAuthenticationRequest> }
  export default sasl
}

declare module 'kafkajs-snappy' {
  const codec: () => {
    compress(encoder: { buffer: Buffer }): Promise<Buffer>
    decompress(buffer: Buffer): Promise<Buffer>
  }
  export default codec
}
