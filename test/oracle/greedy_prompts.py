"""The five chats of the greedy goldens: default system prompt, own system prompt, code, scripts and emoji, long with digits."""

LEDGER = """Warehouse report, week 37. Read it and answer the question at the end.

Monday: 412 crates came in by rail, 96 by road. 388 crates left. Two forklifts were out of order from 07:15 to 11:40, so \
the night shift moved the last 54 crates by hand. The temperature in hall B was 6.5 degrees at noon.
Tuesday: 275 crates came in, all by road, on 11 lorries of 25 crates each. 301 crates left. One lorry (number 7) waited \
93 minutes at the gate because its papers named dock 14 and the goods were booked for dock 41.
Wednesday: no deliveries. 198 crates left. The count of hall A gave 1,204 crates, the books said 1,209; the five missing \
crates were found behind rack 33 in the afternoon, so the books were right.
Thursday: 530 crates came in by rail in 2 trains, the largest day since March. 417 crates left. Overtime: 38.5 hours.
Friday: 120 crates came in by road. 466 crates left. Hall B was cleaned from 13:00 to 16:30 and stayed closed.
Saturday: 64 crates came in by road, 72 left. The gate was open from 08:00 to 12:00 only.
Sunday: closed.

Rules: a crate weighs 18 kg when empty and at most 240 kg when full. A rack holds 36 crates. Hall A has 48 racks, hall B \
has 30 racks. The fee for a crate that stays longer than 14 days is 1.75 a day, for the first 14 days it is 0.90 a day. \
Report anything above 95 percent of capacity to the office, extension 2290, before 17:00 on the same day.

Question: on which day did most crates come in, how many were they, and how did they come?"""

PROMPTS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [
        {"role": "system", "content": "You are a careful assistant. Answer in short, plain sentences."},
        {"role": "user", "content": "Why is the sky blue?"},
        {"role": "assistant", "content": "Air scatters blue light more than red light."},
        {"role": "user", "content": "And why is it red at sunset?"},
    ],
    [
        {
            "role": "user",
            "content": "Explain this function and name one bug:\n\n```python\ndef mean(values):\n"
            "    total = 0\n    for v in values:\n        total += v\n    return total / len(values)\n```\n",
        }
    ],
    [
        {"role": "system", "content": "Reply in the language of the user. 🙂"},
        {"role": "user", "content": "Bonjour ! Écris une phrase sur le thé 🍵, puis traduis « 猫 » et « привет » en anglais."},
    ],
    [{"role": "user", "content": LEDGER}],
]
