"""Spider of `bench.py`: follows all links of the hosts of its seeds and yields URL, title and text of each page."""
from urllib.parse import urlsplit

import scrapy


class Pages(scrapy.Spider):
    name = "pages"

    def __init__(self, seeds, **kwargs):
        super().__init__(**kwargs)
        with open(seeds) as lines:
            self.start_urls = [line.strip() for line in lines if line.strip()]
        self.hosts = {urlsplit(url).netloc for url in self.start_urls}

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        words = response.xpath("//body//text()[not(parent::script or parent::style)]").getall()
        yield {"url": response.url, "title": response.xpath("//title/text()").get(), "text": " ".join(" ".join(words).split())}
        for link in response.css("a::attr(href)").getall():
            target = response.urljoin(link)
            if urlsplit(target).netloc in self.hosts:
                yield response.follow(link, self.parse)
