// Drives a live server with both generated clients and prints, as JSON, what each of them saw.
//
//     MEKA_TOKEN=... node built/smoke.js http://127.0.0.1:8080

import createFetchClient from "openapi-fetch";

import type { components, paths } from "./generated/schema.js";
import { createClient, type Client } from "./generated/sdk/client/index.js";
import {
  createSession,
  getSession,
  listMessages,
  listSessions,
  streamSession,
  submitTurn,
  type TurnRequest,
} from "./generated/sdk/index.js";

type Schemas = components["schemas"];

// The compiler has to refuse what the contract does not have, in the types of either generator.
// @ts-expect-error
const _misspelled: TurnRequest = { massage: "first" };
// @ts-expect-error
const _unclosed: Schemas["TurnRecord"]["status"] = "somehow";

interface Seen {
  listed: boolean;
  said: string;
  messages: number;
  events: string[];
  problem: string;
}

const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const FEED_MILLISECONDS = 20_000;

/** What the client of @hey-api/openapi-ts sees: a held turn, then a detached one on the session's feed. */
async function driveSdk(baseUrl: string, token: string): Promise<Seen> {
  const client = createClient({ baseUrl, auth: token });
  const session = taken(await createSession({ client, body: {} }));
  const path = { id: session.id };
  const turn = taken(await submitTurn({ client, path, body: { message: "first" } }));
  if (!("messages" in turn)) throw new Error("a held turn was answered as a detached one");
  const events = await followTurn(client, session.id);
  const { sessions } = taken(await listSessions({ client }));
  const history = taken(await listMessages({ client, path }));
  const refused = await getSession({ client, path: { id: UNKNOWN } });
  return {
    listed: sessions.some((each) => each.id === session.id),
    said: textOf(turn.messages),
    messages: history.total,
    events,
    problem: refused.error?.type ?? "",
  };
}

/** The names of what a session's feed tells of a turn, which is begun once the feed is open. */
async function followTurn(client: Client, id: string): Promise<string[]> {
  const names: string[] = [];
  const leaving = new AbortController();
  const overdue = setTimeout(() => leaving.abort(), FEED_MILLISECONDS);
  const begin = async () => taken(await submitTurn({ client, path: { id }, body: { message: "second", detach: true } }));
  let begun: Promise<unknown> | undefined;
  const { stream } = await streamSession({
    client,
    path: { id },
    signal: leaving.signal,
    sseMaxRetryAttempts: 1,
    onSseEvent: (frame) => {
      begun ??= begin(); // the first frame is the feed's opening, which has no event
      if (frame.event) names.push(frame.event);
    },
  });
  for await (const _ of stream) {
    if (names.at(-1) === "turn.finished") break;
  }
  await begun;
  clearTimeout(overdue);
  leaving.abort();
  return names;
}

/** What openapi-fetch sees with the types of openapi-typescript: a held turn, then a streamed one. */
async function driveTypes(baseUrl: string, token: string): Promise<Seen> {
  const client = createFetchClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  const session = taken(await client.POST("/v1/sessions", { body: {} }));
  const params = { path: { id: session.id } };
  const turn = taken(await client.POST("/v1/sessions/{id}/turn", { params, body: { message: "first" } }));
  if (typeof turn === "string" || !("messages" in turn)) throw new Error("a held turn was answered as another kind");
  const body = { message: "second", stream: true };
  const streamed = await client.POST("/v1/sessions/{id}/turn", { params, body, parseAs: "stream" });
  const events = eventNames(await new Response(taken(streamed)).text());
  const { sessions } = taken(await client.GET("/v1/sessions"));
  const history = taken(await client.GET("/v1/sessions/{id}/messages", { params }));
  const refused = await client.GET("/v1/sessions/{id}", { params: { path: { id: UNKNOWN } } });
  return {
    listed: sessions.some((each) => each.id === session.id),
    said: textOf(turn.messages),
    messages: history.total,
    events,
    problem: refused.error?.type ?? "",
  };
}

function eventNames(stream: string): string[] {
  return [...stream.matchAll(/^event: (.*)$/gm)].map((found) => found[1] ?? "");
}

/** What the model said, joined. Both generators' messages have this shape, which is checked here. */
function textOf(messages: readonly Schemas["MessageView"][]): string {
  const blocks = messages.filter((each) => each.role === "assistant").flatMap((each) => each.content);
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function taken<Data>(answer: { data?: Data; error?: unknown }): Data {
  if (answer.data === undefined) throw new Error(`refused: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const [baseUrl] = process.argv.slice(2);
const token = process.env["MEKA_TOKEN"];
if (!baseUrl || !token) throw new Error("usage: MEKA_TOKEN=... node smoke.js BASE_URL");
console.log(JSON.stringify({ sdk: await driveSdk(baseUrl, token), types: await driveTypes(baseUrl, token) }));
