// A Cloudflare Worker: forwards the event notifications of an R2 bucket, which come by a queue, to
// `POST /events`. The queue's consumer; see docs/events.md for how it is set up. Messages that are
// not acknowledged by a 200 come again, by the queue's own policy.
export default {
  async queue(batch, env) {
    const answer = await fetch(env.EVENTS_URL, {
      method: "POST",
      headers: { Authorization: `Bearer ${env.EVENTS_TOKEN}`, "Content-Type": "application/json" },
      body: JSON.stringify(batch.messages.map((message) => message.body)),
    });
    if (answer.ok) batch.ackAll();
    else batch.retryAll({ delaySeconds: 30 });
  },
};
